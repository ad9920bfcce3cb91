package query

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/dates"
)

// A parser turns the text of a query into words, each with the terms that it is found by.
type parser struct {
	analysis.Analyzer
	query         Query
	words         [][]queryTerm
	termPositions map[string]termPosition
	keepStopWords bool  // stop words too
	currentWord   int   // the word before, in words; -1 if it was left out, and so are its other forms
	wordSequence  []int // words of the text that stand in spaces, stop words left out; -1 between those that do not

	language      languageStats
	questionSpans [][2]int // parts of the run of characters before that ask and say nothing more

	corrections    map[string]string // what stands for a word
	corrected      bool              // the word before is stood for, and its other forms are not asked for
	weightFactor   float32           // in the weights
	verbatim       bool              // the word before stands for itself
	quotedSpans    [][2]int          // where in the text words do: in quotation marks,
	identifierSpan [2]int            // and in the identifier before
	dates          [][2]int          // byte ranges of the dates of the text
}

// termPosition is the word that a term belongs to, and which of its terms it is.
type termPosition struct{ word, term int }

func newParser(text string, corrections map[string]string) *parser {
	p := &parser{termPositions: map[string]termPosition{}, currentWord: -1, corrections: corrections, weightFactor: 1,
		quotedSpans: quotedSpans(text), dates: dates.Ranges(text)}
	p.Emit = p.onToken
	p.OnRun = func(text string) { p.questionSpans = analysis.QuestionSpans(text) }
	return p
}

func (p *parser) onToken(term []byte, r analysis.TokenType) {
	switch r {
	case analysis.Identifier:
		from, to := p.Span()
		p.identifierSpan = [2]int{from, to}
	case analysis.Word:
		p.language.observe(term)
		p.verbatim = p.inSpan(p.identifierSpan) || slices.ContainsFunc(p.quotedSpans, p.inSpan)
	case analysis.Stem, analysis.Unaccented, analysis.Joined:
		if p.corrected {
			return
		}
	case analysis.Unigram:
		p.query.unigrams = append(p.query.unigrams, cjkUnigram{text: string(term)})
		return
	case analysis.Bigram:
		n := len(p.query.unigrams) // the second of the two came before
		p.query.unigrams[n-2].bigramAfter, p.query.unigrams[n-1].bigramBefore = string(term), string(term)
	}
	other, found := "", false
	if r == analysis.Word && !p.verbatim {
		other, found = p.corrections[string(term)]
	}
	if p.corrected = found; found {
		p.weightFactor = correctionWeight
		a := analysis.Analyzer{Emit: p.addTerm}
		for w := range strings.FieldsSeq(other) {
			a.EmitWord(w)
		}
		p.weightFactor = 1
		return
	}
	p.addTerm(term, r)
}

// inSpan reports whether the word stands in a part of the text.
func (p *parser) inSpan(part [2]int) bool {
	from, to := p.Span()
	return part[0] <= from && to <= part[1]
}

// addTerm asks for a term, if it is none of those that are left out.
func (p *parser) addTerm(term []byte, r analysis.TokenType) {
	text := string(term)
	if r != analysis.Stem && r != analysis.Unaccented && r != analysis.Joined {
		p.beginWord(text, r)
	}
	word := p.currentWord
	if word < 0 && r == analysis.Joined { // what ends with a stop word, such as sign-in, is one word none the less
		word = len(p.words) - 1
	}
	if word < 0 {
		return
	}
	if at, known := p.termPositions[text]; known {
		t := &p.words[at.word][at.term]
		t.count++
		t.dated = t.dated && p.inDate(r)
		return
	}
	weight := p.weightFactor
	if r == analysis.Stem || r == analysis.Unaccented ||
		r == analysis.Joined && p.words[word][0].tokenType == analysis.Identifier {
		p.words[word][0].weight = surfaceFormWeight * p.weightFactor
	}
	p.appendTerm(word, queryTerm{text: text, weight: weight, tokenType: r, verbatim: p.verbatim, dated: p.inDate(r),
		count: 1})
}

// appendTerm adds a term to a word.
func (p *parser) appendTerm(word int, t queryTerm) {
	p.termPositions[t.text] = termPosition{word, len(p.words[word])}
	p.words[word] = append(p.words[word], t)
}

// beginWord begins the forms of another word.
func (p *parser) beginWord(text string, r analysis.TokenType) {
	stop := r == analysis.Word && analysis.IsStopWord(text) ||
		(r == analysis.Bigram || r == analysis.LoneUnigram) && p.inQuestionPhrase()
	at, known := p.termPositions[text]
	switch {
	case stop && !p.keepStopWords:
		p.currentWord = -1
	case known:
		p.currentWord = at.word
	default:
		p.currentWord = len(p.words)
		p.words = append(p.words, nil)
	}
	switch {
	case r != analysis.Word:
		p.wordSequence = append(p.wordSequence, -1)
	case !stop:
		p.wordSequence = append(p.wordSequence, p.currentWord)
	}
}

// inQuestionPhrase reports whether the term is part of a phrase that asks.
func (p *parser) inQuestionPhrase() bool {
	span := p.RunSpan()
	return slices.ContainsFunc(p.questionSpans, func(x [2]int) bool { return x[0] <= span[0] && span[1] <= x[1] })
}

// joinedWordWeight is the weight of two words of the query as one. With more, the questions of docs and code lose .003.
const joinedWordWeight = .1

// joinAdjacentWords asks for words that stand side by side as one word too: whitebox for "white box".
func (p *parser) joinAdjacentWords() {
	for i := 1; i < len(p.wordSequence); i++ {
		a, b := p.wordSequence[i-1], p.wordSequence[i]
		if a < 0 || b < 0 || a == b {
			continue
		}
		first, second := p.words[a][0], p.words[b][0]
		if first.tokenType != analysis.Word || second.tokenType != analysis.Word || first.verbatim || second.verbatim ||
			len(first.text)+len(second.text) > analysis.MaxJoinedPair || !analysis.OnlyLetters([]byte(first.text)) ||
			!analysis.OnlyLetters([]byte(second.text)) {
			continue
		}
		term := []byte(first.text + second.text)
		if !analysis.HasNonASCII(term) {
			term = p.StemOf(term)
		}
		if _, known := p.termPositions[string(term)]; !known {
			p.appendTerm(b, queryTerm{text: string(term), weight: joinedWordWeight, tokenType: analysis.Joined,
				count: 1})
		}
	}
}

// finish makes the words the terms of the query.
func (p *parser) finish(text string) Query {
	p.joinAdjacentWords()
	q := p.query
	q.text, q.wordCount = text, len(p.words)
	q.nonEnglish, q.nonEnglishLatin, q.ambiguousLanguage = p.language.nonEnglish(), p.language.nonEnglishLatin(),
		p.language.ambiguous()
	for i, terms := range p.words {
		for _, t := range terms {
			t.wordIndex, t.weight = i, t.weight*queryTermFreqWeight(t.count)
			if t.dated {
				t.weight *= dateWordWeight
			}
			q.terms = append(q.terms, t)
		}
	}
	known := map[[2]int]bool{}
	for i := 1; i < len(p.wordSequence); i++ {
		x := [2]int{p.wordSequence[i-1], p.wordSequence[i]}
		if x[0] >= 0 && x[1] >= 0 && x[0] != x[1] && !known[x] {
			known[x] = true
			q.wordBigrams = append(q.wordBigrams, x)
		}
	}
	q.buildLookup()
	return q
}

// quotedSpans finds the parts of a text in quotation marks, without these.
func quotedSpans(text string) (parts [][2]int) {
	from, ends := 0, ""
	for i, r := range text {
		switch {
		case ends == "":
			ends, from = closingQuotes[r], i+utf8.RuneLen(r)
		case strings.ContainsRune(ends, r):
			parts = append(parts, [2]int{from, i})
			ends = ""
		}
	}
	return parts
}
