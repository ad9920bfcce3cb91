package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A parser turns the text of a query into words, each with the terms that it is found by.
type parser struct {
	analyzer
	query Query
	words [][]queryTerm
	known map[string]termPlace
	all   bool  // stop words too
	word  int   // the word before, in words; -1 if it was left out, and so are its other forms
	chain []int // words of the text that stand in spaces, stop words left out; -1 between those that do not

	tongue  tongue
	phrases [][2]int // parts of the run of characters before that ask and say nothing more

	repairs  map[string]string // what stands for a word
	repaired bool              // the word before is stood for, and its other forms are not asked for
	factor   float32           // in the weights
	fixed    bool              // the word before stands for itself
	exact    [][2]int          // where in the text words do: in quotation marks,
	name     [2]int            // and in the identifier before
	dates    [][2]int          // byte ranges of the dates of the text
}

// termPlace is the word that a term belongs to, and which of its terms it is.
type termPlace struct{ word, term int }

func newParser(text string, repairs map[string]string) *parser {
	p := &parser{known: map[string]termPlace{}, word: -1, repairs: repairs, factor: 1, exact: quoted(text), dates: dateRanges(text)}
	p.emit = p.add
	p.run = func(text string) { p.phrases = phrasesIn(text) }
	return p
}

func (p *parser) add(term []byte, r role) {
	switch r {
	case whole:
		p.name = [2]int{p.from, p.to}
	case word:
		p.tongue.hear(term)
		p.fixed = p.within(p.name) || slices.ContainsFunc(p.exact, p.within)
	case stem, plain, united:
		if p.repaired {
			return
		}
	case letter:
		p.query.glyphs = append(p.query.glyphs, glyph{text: string(term)})
		return
	case gram:
		n := len(p.query.glyphs) // the second of the two came before
		p.query.glyphs[n-2].after, p.query.glyphs[n-1].before = string(term), string(term)
	}
	other, found := "", false
	if r == word && !p.fixed {
		other, found = p.repairs[string(term)]
	}
	if p.repaired = found; found {
		p.factor = repairWeight
		a := analyzer{emit: p.take}
		for w := range strings.FieldsSeq(other) {
			a.word(w)
		}
		p.factor = 1
		return
	}
	p.take(term, r)
}

// within reports whether the word stands in a part of the text.
func (p *parser) within(part [2]int) bool { return part[0] <= p.from && p.to <= part[1] }

// take asks for a term, if it is none of those that are left out.
func (p *parser) take(term []byte, r role) {
	text := string(term)
	if r != stem && r != plain && r != united {
		p.begin(text, r)
	}
	word := p.word
	if word < 0 && r == united { // what ends with a stop word, such as sign-in, is one word none the less
		word = len(p.words) - 1
	}
	if word < 0 {
		return
	}
	if at, known := p.known[text]; known {
		t := &p.words[at.word][at.term]
		t.count++
		t.dated = t.dated && p.inDate(r)
		return
	}
	weight := p.factor
	if r == stem || r == plain || r == united && p.words[word][0].role == whole {
		p.words[word][0].weight = beside * p.factor
	}
	p.put(word, queryTerm{text: text, weight: weight, role: r, fixed: p.fixed, dated: p.inDate(r), count: 1})
}

// put adds a term to a word.
func (p *parser) put(word int, t queryTerm) {
	p.known[t.text] = termPlace{word, len(p.words[word])}
	p.words[word] = append(p.words[word], t)
}

// begin begins the forms of another word.
func (p *parser) begin(text string, r role) {
	stop := r == word && stopWords[text] || (r == gram || r == lone) && p.asks()
	at, known := p.known[text]
	switch {
	case stop && !p.all:
		p.word = -1
	case known:
		p.word = at.word
	default:
		p.word = len(p.words)
		p.words = append(p.words, nil)
	}
	switch {
	case r != word:
		p.chain = append(p.chain, -1)
	case !stop:
		p.chain = append(p.chain, p.word)
	}
}

// asks reports whether the term is part of a phrase that asks.
func (p *parser) asks() bool {
	return slices.ContainsFunc(p.phrases, func(x [2]int) bool { return x[0] <= p.part[0] && p.part[1] <= x[1] })
}

// joinedWeight is the weight of two words of the query as one. With more, the questions of docs and code lose .003.
const joinedWeight = .1

// join asks for words that stand side by side as one word too: whitebox for "white box".
func (p *parser) join() {
	for i := 1; i < len(p.chain); i++ {
		a, b := p.chain[i-1], p.chain[i]
		if a < 0 || b < 0 || a == b {
			continue
		}
		first, second := p.words[a][0], p.words[b][0]
		if first.role != word || second.role != word || first.fixed || second.fixed ||
			len(first.text)+len(second.text) > maxUnited || !onlyLetters([]byte(first.text)) || !onlyLetters([]byte(second.text)) {
			continue
		}
		term := []byte(first.text + second.text)
		if !beyondASCII(term) {
			term = p.root(term)
		}
		if _, known := p.known[string(term)]; !known {
			p.put(b, queryTerm{text: string(term), weight: joinedWeight, role: united, count: 1})
		}
	}
}

// finish makes the words the terms of the query.
func (p *parser) finish(text string) Query {
	p.join()
	q := p.query
	q.text, q.groups = text, len(p.words)
	q.foreign, q.latin, q.open = p.tongue.foreign(), p.tongue.latin(), p.tongue.open()
	for i, terms := range p.words {
		for _, t := range terms {
			t.group, t.weight = i, t.weight*repeated(t.count)
			if t.dated {
				t.weight *= dateWordWeight
			}
			q.terms = append(q.terms, t)
		}
	}
	known := map[[2]int]bool{}
	for i := 1; i < len(p.chain); i++ {
		x := [2]int{p.chain[i-1], p.chain[i]}
		if x[0] >= 0 && x[1] >= 0 && x[0] != x[1] && !known[x] {
			known[x] = true
			q.pairs = append(q.pairs, x)
		}
	}
	q.index()
	return q
}

// quoted finds the parts of a text in quotation marks, without these.
func quoted(text string) (parts [][2]int) {
	from, ends := 0, ""
	for i, r := range text {
		switch {
		case ends == "":
			ends, from = closing[r], i+utf8.RuneLen(r)
		case strings.ContainsRune(ends, r):
			parts = append(parts, [2]int{from, i})
			ends = ""
		}
	}
	return parts
}
