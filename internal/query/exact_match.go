package query

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci/internal/analysis"
)

// ExactMatcher is what of a query is to be found as it stands: phrases in quotation
// marks, or an identifier or a title that is all of it.
type ExactMatcher struct {
	phrases    []string
	identifier string
	title      string
}

// closingQuotes are the marks that may end what a quotation mark begins.
var closingQuotes = map[rune]string{'"': `"`, '＂': "＂", '“': "”", '„': "“”\"", '«': "»", '»': "«", '「': "」", '『': "』"}

// NewExactMatcher finds what of a query is to be found as it stands.
func NewExactMatcher(query string) ExactMatcher {
	e := ExactMatcher{title: normalizeExact(query)}
	for _, part := range quotedSpans(query) {
		if p := normalizeExact(query[part[0]:part[1]]); p != "" {
			e.phrases = append(e.phrases, p)
		}
	}
	if fields := strings.Fields(query); len(fields) == 1 && isIdentifier(fields[0]) {
		e.identifier = normalizeExact(fields[0])
	}
	return e
}

// isIdentifier reports a token that is kept whole beside its parts.
func isIdentifier(token string) (yes bool) {
	a := analysis.Analyzer{Emit: func(_ []byte, r analysis.TokenType) { yes = yes || r == analysis.Identifier }}
	a.Analyze(token)
	return yes
}

// normalizeExact folds what makes no other word: letter case, white space, compatible
// forms, digits of other scripts, apostrophes, and what is unseen.
func normalizeExact(s string) string {
	if analysis.HasNonASCII(s) {
		s = string(analysis.FoldCase(nil, strings.Map(foldApostrophe, norm.NFKC.String(s))))
	} else {
		s = strings.ToLower(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// foldApostrophe is a seen character, with one apostrophe for all.
func foldApostrophe(r rune) rune {
	if r == '’' || r == analysis.Apostrophe {
		return '\''
	}
	return analysis.FoldRune(r)
}

// Active reports whether there is a phrase or an identifier to look for.
func (e ExactMatcher) Active() bool { return len(e.phrases) > 0 || e.identifier != "" }

// Match tells in which way a memory is exactly what was asked for; empty if in none.
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

// BoostExact lifts a hit that is exactly what was asked for before all that are not, none
// of which has a score above best.
func (h Hit) BoostExact(best float32) Hit {
	h.Score, h.exactBoost = h.Score+best, best
	return h
}

// containsPhrase reports whether a text holds a phrase that neither begins nor ends inside
// a word. In scripts without spaces every character is a border.
func containsPhrase(text, phrase string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		first, _ := utf8.DecodeRuneInString(phrase)
		last, _ := utf8.DecodeLastRuneInString(phrase)
		after, _ := utf8.DecodeRuneInString(text[i+len(phrase):])
		if !sameWord(before, first) && (!sameWord(last, after) || analysis.EndsDateOfDateTime(text, i+len(phrase))) {
			return true
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		from = i + n
	}
}

func sameWord(a, b rune) bool {
	return isLetterOrDigit(a) && isLetterOrDigit(b) && !analysis.IsUnsegmented(a) && !analysis.IsUnsegmented(b)
}

func isLetterOrDigit(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
