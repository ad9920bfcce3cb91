package query

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/dates"
)

// A parser turns the tokens of a query into words, each with the terms of its forms.
type parser struct {
	analysis.Analyzer
	query         Query
	words         [][]queryTerm
	termPositions map[string]termPosition
	keepStopWords bool  // stop words become terms too
	currentWord   int   // index of the word of the last token; -1 if it was dropped
	previousWord  int   // index of the word of the token before, or -1
	wordSequence  []int // words that become terms, in text order; -1 for other tokens

	language      languageStats
	questionSpans [][2]int // question phrases in the current run of characters

	corrections    map[string]string // correction by misspelled word
	corrected      bool              // the last word was corrected; its other forms are dropped
	weightFactor   float32           // factor in the weights of terms
	verbatim       bool              // the last word is quoted or part of an identifier
	quotedSpans    [][2]int          // byte ranges of quoted text
	identifierSpan [2]int            // byte range of the last identifier
	dates          [][2]int          // byte ranges of the dates of the text
}

// termPosition is the index of a word, and the index of a term among the forms of that word.
type termPosition struct{ word, term int }

func newParser(text string, corrections map[string]string) *parser {
	p := &parser{termPositions: map[string]termPosition{}, currentWord: -1, corrections: corrections, weightFactor: 1,
		quotedSpans: quotedSpans(text), dates: dates.Ranges(text)}
	p.Emit = p.onToken
	p.OnRun = func(text string) { p.questionSpans = analysis.QuestionSpans(text) }
	return p
}

// onToken adds the terms of a token of the query.
func (p *parser) onToken(term []byte, r analysis.TokenType) {
	switch r {
	case analysis.Identifier:
		from, to := p.Span()
		p.identifierSpan = [2]int{from, to}
	case analysis.Word:
		p.language.observe(term)
		p.verbatim = p.inSpan(p.identifierSpan) || slices.ContainsFunc(p.quotedSpans, p.inSpan)
	case analysis.Stem, analysis.Variant, analysis.Joined:
		if p.corrected {
			return
		}
	case analysis.Unigram:
		p.query.unigrams = append(p.query.unigrams, queryUnigram{text: string(term)})
		return
	case analysis.Bigram:
		n := len(p.query.unigrams) // both characters of the pair were emitted before
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

// inSpan reports whether the current token is in a byte range of the text.
func (p *parser) inSpan(part [2]int) bool {
	from, to := p.Span()
	return part[0] <= from && to <= part[1]
}

// addTerm adds a term to its word, unless the word was dropped. A known term is counted once more.
func (p *parser) addTerm(term []byte, r analysis.TokenType) {
	text := string(term)
	word := p.wordOf(text, r)
	if word < 0 {
		return
	}
	if at, known := p.termPositions[text]; known {
		p.countAgain(at, word, r)
	} else {
		p.addForm(word, text, r)
	}
}

// wordOf returns the word of which a term is a form, or -1 if it was dropped. It begins or resumes the word of a token.
func (p *parser) wordOf(text string, r analysis.TokenType) int {
	if r != analysis.Stem && r != analysis.Variant && r != analysis.Joined {
		p.beginWord(text, r)
	}
	if p.currentWord < 0 && r == analysis.Joined { // sign-in ends with a stop word, but is one word
		return p.previousWord
	}
	return p.currentWord
}

// countAgain counts another occurrence of a known term, as a form of the given word.
func (p *parser) countAgain(at termPosition, word int, r analysis.TokenType) {
	t := &p.words[at.word][at.term]
	t.count++
	t.dated = t.dated && p.inDate(r)
	p.words[at.word][0].lastOccurrence = len(p.wordSequence)
	if at.word != word {
		p.words[word][0].sharedForm = t.text
	}
}

// addForm adds a term to the forms of a word. The postings of most forms contain the word as it is spelled, so that
// its own weight falls: see surfaceFormWeight.
func (p *parser) addForm(word int, text string, r analysis.TokenType) {
	if len(p.words[word]) >= maxWordForms {
		return
	}
	if r == analysis.Stem || r == analysis.Variant ||
		r == analysis.Joined && p.words[word][0].tokenType == analysis.Identifier {
		p.words[word][0].weight = surfaceFormWeight * p.weightFactor
	}
	p.appendTerm(word, queryTerm{text: text, weight: p.weightFactor, tokenType: r, verbatim: p.verbatim,
		dated: p.inDate(r), count: 1, lastOccurrence: len(p.wordSequence)})
}

// appendTerm appends a term to the forms of a word.
func (p *parser) appendTerm(word int, t queryTerm) {
	p.termPositions[t.text] = termPosition{word, len(p.words[word])}
	p.words[word] = append(p.words[word], t)
}

// beginWord begins another word, or resumes a known one.
func (p *parser) beginWord(text string, r analysis.TokenType) {
	stop := r == analysis.Word && analysis.IsStopWord(text) ||
		(r == analysis.Bigram || r == analysis.LoneUnigram) && p.inQuestionPhrase()
	at, known := p.termPositions[text]
	p.previousWord = p.currentWord
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
	case !stop || p.keepStopWords:
		p.wordSequence = append(p.wordSequence, p.currentWord)
	}
}

// inQuestionPhrase reports whether the current token is part of a question phrase.
func (p *parser) inQuestionPhrase() bool {
	span := p.RunSpan()
	return slices.ContainsFunc(p.questionSpans, func(x [2]int) bool { return x[0] <= span[0] && span[1] <= x[1] })
}

// joinedWordWeight is the weight of two adjacent words written as one. With a higher weight, questions on documentation
// and code lose .003.
const joinedWordWeight = .1

// maxWordForms bounds the look-ups of a word beside many others, and the bits of match.terms.
const maxWordForms = 16

// joinAdjacentWords adds adjacent words written as one: whitebox for "white box".
func (p *parser) joinAdjacentWords() {
	for i := 1; i < len(p.wordSequence); i++ {
		a, b := p.wordSequence[i-1], p.wordSequence[i]
		if a < 0 || b < 0 || a == b || len(p.words[b]) >= maxWordForms {
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

// finish returns the query of the words.
func (p *parser) finish(text string) Query {
	p.joinAdjacentWords()
	q := p.query
	q.text, q.wordCount = text, len(p.words)
	q.expandsWords, q.expandsASCII, q.ambiguousLanguage = p.language.expandsWords(), p.language.expandsASCII(),
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

// quotedSpans returns the byte ranges between quotation marks.
func quotedSpans(text string) (parts [][2]int) {
	from, ends := 0, ""
	for i, r := range text {
		switch {
		case r == '"' && ends == "" && i > 0 && text[i-1]-'0' <= 9: // an inch sign
		case ends == "":
			ends, from = closingQuotes[r], i+utf8.RuneLen(r)
		case strings.ContainsRune(ends, r):
			parts = append(parts, [2]int{from, i})
			ends = ""
		}
	}
	return parts
}
