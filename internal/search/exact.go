package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Exact is what of a query is to be found as it stands: phrases in quotation
// marks, or an identifier or a title that is all of it.
type Exact struct {
	phrases    []string
	identifier string
	title      string
}

// closing are the marks that may end what a quotation mark begins.
var closing = map[rune]string{'"': `"`, '＂': "＂", '“': "”", '„': "“”\"", '«': "»", '»': "«", '「': "」", '『': "』"}

// NewExact finds what of a query is to be found as it stands.
func NewExact(query string) Exact {
	e := Exact{title: squeeze(query)}
	for _, part := range quoted(query) {
		if p := squeeze(query[part[0]:part[1]]); p != "" {
			e.phrases = append(e.phrases, p)
		}
	}
	if fields := strings.Fields(query); len(fields) == 1 && identifies(fields[0]) {
		e.identifier = squeeze(fields[0])
	}
	return e
}

// identifies reports a token that is kept whole beside its parts.
func identifies(token string) (yes bool) {
	a := analyzer{emit: func(_ []byte, r role) { yes = yes || r == whole }}
	a.analyze(token)
	return yes
}

// squeeze folds what makes no other word: letter case, white space, compatible
// forms, digits of other scripts, apostrophes, and what is unseen.
func squeeze(s string) string {
	if beyondASCII(s) {
		s = string(foldCase(nil, strings.Map(straight, norm.NFKC.String(s))))
	} else {
		s = strings.ToLower(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// straight is a seen character, with one apostrophe for all.
func straight(r rune) rune {
	if r == '’' || r == apostrophe {
		return '\''
	}
	return seen(r)
}

// Wanted reports whether there is a phrase or an identifier to look for.
func (e Exact) Wanted() bool { return len(e.phrases) > 0 || e.identifier != "" }

// Held tells in which way a memory is exactly what was asked for; empty if in none.
func (e Exact) Held(title, content string) string {
	switch {
	case len(e.phrases) > 0:
		title, content = squeeze(title), squeeze(content)
		for _, p := range e.phrases {
			if !within(title, p) && !within(content, p) {
				return ""
			}
		}
		return "phrase"
	case e.identifier != "" && (within(squeeze(title), e.identifier) || within(squeeze(content), e.identifier)):
		return "identifier"
	case e.title != "" && squeeze(title) == e.title && !repeats(title, content):
		return "title"
	}
	return ""
}

// First lifts a hit that is exactly what was asked for before all that are not, none
// of which has a score above best.
func (h Hit) First(best float32) Hit {
	h.Score, h.lift = h.Score+best, best
	return h
}

// within reports whether a text holds a phrase that neither begins nor ends inside
// a word. In scripts without spaces every character is a border.
func within(text, phrase string) bool {
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
		if !joined(before, first) && (!joined(last, after) || timed(text, i+len(phrase))) {
			return true
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		from = i + n
	}
}

func joined(a, b rune) bool { return inWord(a) && inWord(b) && !isDense(a) && !isDense(b) }

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
