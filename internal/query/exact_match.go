package query

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// ExactMatcher reports which memories hold a query verbatim. They have its first maxPhrases quoted phrases, the
// identifier that it is, or a title equal to it. It excludes no memory.
type ExactMatcher struct {
	phrases    []string
	identifier string
	title      string
}

// maxPhrases is the greatest number of quoted phrases of a query that are searched.
const maxPhrases = 8

// closingQuotes are the marks that may end a quotation, by its opening mark.
var closingQuotes = map[rune]string{'"': `"`, '＂': "＂", '“': "”", '„': "“”\"", '«': "»", '»': "«", '「': "」", '『': "』"}

// NewExactMatcher returns the exact matcher of a query.
func NewExactMatcher(query string) ExactMatcher {
	e := ExactMatcher{title: normalizeExact(query)}
	for _, part := range quotedSpans(query) {
		p := normalizeExact(query[part[0]:part[1]])
		if p != "" && !slices.Contains(e.phrases, p) && len(e.phrases) < maxPhrases {
			e.phrases = append(e.phrases, p)
		}
	}
	if fields := strings.Fields(query); len(fields) == 1 && isIdentifier(fields[0]) {
		e.identifier = normalizeExact(fields[0])
	}
	return e
}

// isIdentifier reports whether the analyzer keeps a token as a whole beside its parts.
func isIdentifier(token string) (yes bool) {
	a := analysis.Analyzer{Emit: func(_ []byte, r analysis.TokenType) { yes = yes || r == analysis.Identifier }}
	a.Analyze(token)
	return yes
}

// normalizeExact folds differences that make no other word. These are letter case, white space, compatible forms,
// digits of other scripts, apostrophes and invisible characters.
func normalizeExact(s string) string {
	if analysis.HasNonASCII(s) {
		s = string(analysis.FoldCase(nil, strings.Map(foldApostrophe, analysis.NormalizePrefix(s, maxNormalGrowth))))
	} else {
		s = strings.ToLower(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// foldApostrophe replaces apostrophes by the ASCII one, and drops invisible characters.
func foldApostrophe(r rune) rune {
	if r == '’' || r == analysis.Apostrophe {
		return '\''
	}
	return analysis.FoldRune(r)
}

// Active reports whether the query has a phrase or is an identifier.
func (e ExactMatcher) Active() bool { return len(e.phrases) > 0 || e.identifier != "" }

// Match returns the kind of exact match of a memory: phrase, identifier or title. It is empty if there is none.
func (e ExactMatcher) Match(title, content string) string {
	switch {
	case len(e.phrases) > 0:
		title, content = normalizeExact(title), normalizeExact(content)
		for _, p := range e.phrases {
			if !containsPhrase(title, p) && !containsPhrase(content, p) {
				return ""
			}
		}
		return "phrase"
	case e.identifier != "" && (containsPhrase(normalizeExact(title), e.identifier) ||
		containsPhrase(normalizeExact(content), e.identifier)):
		return "identifier"
	case e.title != "" && normalizeExact(title) == e.title && !analysis.TitleRepeatsContent(title, content):
		return "title"
	}
	return ""
}

// BoostExact adds best, the highest score before rescoring, to the score of an exact match. Other hits exceed it only
// by other boosts.
func (h Hit) BoostExact(best float32) Hit {
	h.Score, h.exactBoost = h.Score+best, best
	return h
}

// containsPhrase reports whether a text has a phrase that neither begins nor ends inside a word. Characters of scripts
// without spaces are words of their own.
func containsPhrase(text, phrase string) bool {
	first, size := utf8.DecodeRuneInString(phrase)
	last, _ := utf8.DecodeLastRuneInString(phrase)
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(phrase):])
		from = i + size
		switch {
		case sameWord(before, first): // no match begins in the rest of the word
			n := strings.IndexFunc(text[from:], endsWord)
			if n < 0 {
				return false
			}
			from += n
		case !sameWord(last, after) || analysis.EndsDateOfDateTime(text, i+len(phrase)):
			return true
		}
	}
}

// sameWord reports whether two adjacent characters belong to one word.
func sameWord(a, b rune) bool { return !endsWord(a) && !endsWord(b) }

// endsWord reports whether r is a word of its own or no part of any.
func endsWord(r rune) bool { return !analysis.IsWordRune(r) || analysis.IsUnsegmented(r) }

// ExactBoost returns the part of the score that BoostExact added.
func (h Hit) ExactBoost() float32 { return h.exactBoost }
