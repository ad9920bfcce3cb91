package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

type parser struct {
	analyzer
	query  Query
	seen   map[string]bool
	all    bool // stop words too
	first  int  // the word before
	skip   bool // the word before was left out, and so are its other forms
	group  map[string]int
	last   int // the group of the word before, stop words passed over; 0 is none, else one more
	tongue tongue

	repairs  map[string]string // what stands for a word
	repaired bool              // the word before is stood for, and its other forms are not asked for
	factor   float32           // in the weights
	fixed    bool              // the word before stands for itself
	exact    [][2]int          // where in the text words do: in quotation marks,
	name     [2]int            // and in the identifier before
}

func newParser(text string, repairs map[string]string) *parser {
	p := &parser{seen: map[string]bool{}, group: map[string]int{}, repairs: repairs, factor: 1, exact: quoted(text)}
	p.emit = p.add
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
		a.word(other)
		p.factor = 1
		return
	}
	p.take(term, r)
}

// within reports whether the word stands in a part of the text.
func (p *parser) within(part [2]int) bool { return part[0] <= p.from && p.to <= part[1] }

// take asks for a term, if it is none of those that are left out.
func (p *parser) take(term []byte, r role) {
	if len(p.query.terms) == maxTerms {
		return
	}
	form := r == stem || r == plain || r == united
	if !form {
		p.begin(term, r)
	}
	// What ends with a stop word, such as sign-in, is one word none the less.
	left := p.skip && (r != united || p.query.groups == 0)
	if left || p.seen[string(term)] {
		return
	}
	text := string(term)
	p.seen[text] = true
	if form && r != united {
		p.query.terms[p.first].weight = beside * p.factor
	} else {
		p.first = len(p.query.terms)
	}
	p.query.terms = append(p.query.terms, queryTerm{text: text, group: p.query.groups - 1, weight: p.factor, role: r, fixed: p.fixed})
}

// begin begins the forms of another word.
func (p *parser) begin(term []byte, r role) {
	stop := r == word && stopWords[string(term)]
	p.skip = p.seen[string(term)] || stop && !p.all
	if !p.skip {
		p.query.groups++
		p.group[string(term)] = p.query.groups
	}
	if !stop {
		p.pair(p.group[string(term)], r == word)
	}
}

// pair notes that a word comes after another one.
func (p *parser) pair(group int, word bool) {
	if word && p.last != 0 && p.last != group {
		if x := [2]int{p.last - 1, group - 1}; !slices.Contains(p.query.pairs, x) {
			p.query.pairs = append(p.query.pairs, x)
		}
	}
	p.last = 0
	if word {
		p.last = group
	}
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
