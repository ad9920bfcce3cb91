package minhash

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// editor makes the changes that a person makes to a text which he stores again.
type editor struct {
	*rand.Rand
	otherTexts []string // texts from which sentences are taken
}

// edits are named as the figures are printed. One that finds nothing to change returns the text as it is. Letter case,
// marks and white space are not among them: TestBandsIgnoreMarkupCaseAndSpace changes these.
var edits = []struct {
	name string
	make func(e *editor, text string) string
}{
	{"typos", (*editor).typos},
	{"number", (*editor).number},
	{"name", (*editor).name},
	{"add sentence", (*editor).lengthen},
	{"drop sentence", (*editor).drop},
	{"shorten by a fifth", (*editor).shorten},
}

var (
	longWord = regexp.MustCompile(`\p{L}{4,}`)
	digits   = regexp.MustCompile(`[0-9]+`)
	identity = regexp.MustCompile(`[\p{L}_]{4,}`)
	sentence = regexp.MustCompile(`(?s)[^.。\n]+(?:[.。\n]+|$)`)
)

// typos swaps, drops or doubles a character in one word of sixty.
func (e *editor) typos(text string) string {
	words := longWord.FindAllStringIndex(text, -1)
	for range 1 + len(words)/60 {
		if len(words) == 0 {
			return text
		}
		at := words[e.IntN(len(words))]
		w := []rune(text[at[0]:at[1]])
		i := 1 + e.IntN(len(w)-2)
		switch e.IntN(3) {
		case 0:
			w[i], w[i+1] = w[i+1], w[i]
		case 1:
			w = append(w[:i], w[i+1:]...)
		default:
			w = append(w[:i], w[i-1:]...)
		}
		text = text[:at[0]] + string(w) + text[at[1]:]
		words = longWord.FindAllStringIndex(text, -1)
	}
	return text
}

// number puts another number in the place of one.
func (e *editor) number(text string) string {
	all := digits.FindAllStringIndex(text, -1)
	if len(all) == 0 {
		return text
	}
	at := all[e.IntN(len(all))]
	return text[:at[0]] + fmt.Sprint(e.IntN(5000)) + text[at[1]:]
}

// name renames a word everywhere in the text.
func (e *editor) name(text string) string {
	all := identity.FindAllString(text, -1)
	if len(all) == 0 {
		return text
	}
	old := all[e.IntN(len(all))]
	return strings.ReplaceAll(text, old, "Renamed"+string(rune('A'+e.IntN(26))))
}

// otherText returns a sentence of another text, of a usual length.
func (e *editor) otherText() string {
	for range 20 {
		all := sentence.FindAllString(e.otherTexts[e.IntN(len(e.otherTexts))], -1)
		if len(all) == 0 {
			continue
		}
		s := strings.TrimSpace(all[e.IntN(len(all))])
		if n := utf8.RuneCountInString(s); n >= 20 && n <= 120 {
			return s + "\n"
		}
	}
	return "This was looked at again and is still true.\n"
}

// lengthen adds a sentence of another text between two sentences.
func (e *editor) lengthen(text string) string {
	all := sentence.FindAllStringIndex(text, -1)
	if len(all) == 0 {
		return text
	}
	at := all[e.IntN(len(all))][1]
	return text[:at] + " " + e.otherText() + text[at:]
}

func (e *editor) drop(text string) string {
	all := sentence.FindAllStringIndex(text, -1)
	if len(all) < 3 {
		return text
	}
	at := all[e.IntN(len(all))]
	return text[:at[0]] + text[at[1]:]
}

// shorten takes a fifth of the text away, at one place.
func (e *editor) shorten(text string) string {
	r := []rune(text)
	n := len(r) / 5
	at := e.IntN(len(r) - n + 1)
	for at > 0 && !unicode.IsSpace(r[at-1]) && r[at-1] < 0x3000 {
		at--
	}
	return string(r[:at]) + string(r[min(at+n, len(r)):])
}
