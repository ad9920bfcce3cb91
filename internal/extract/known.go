package extract

import (
	"regexp"
	"strings"
	"time"
	"unicode"
)

// generalWords change with the wording of a statement, and not with its meaning. Negations and numbers are not among
// them: they make another statement.
var generalWords = wordSet("note noted before earlier remember reminder recall recap already known know fact " +
	"keep keeps kept store stored run runs live lives go goes going take takes make makes made put set have has had " +
	"get gets got want wants like one thing also still just so then here there all per into onto via through our " +
	"us they them their he she his her what which who when where how can may do does did been being am was were " +
	"if about over under more most very much well ok okay please let agreed agree chose choose chosen pick picked " +
	"settled settle plan remain remains stay stays always right current currently today you your yes")

// Words returns the words of a sentence that carry its meaning, as a query.
func Words(sentence string) string {
	list := strings.FieldsFunc(sentence, func(r rune) bool { return !isWordRune(r) })
	kept := list[:0]
	for _, w := range list {
		if lower := lowerASCII(w); !commonWords[lower] && !generalWords[lower] {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// Repeats reports whether a sentence of a text says what a statement says, in other words too: each word of the
// statement is in the sentence, unless it is general.
func Repeats(statement, text string) bool {
	statement, day := cutDay(statement)
	words := contentWords(statement)
	for w := range words {
		if generalWords[w] {
			delete(words, w)
		}
	}
	if len(words) == 0 {
		return false
	}
	for _, s := range sentences(text) {
		known, knownDay := cutDay(s.text)
		if isSameWeek(day, knownDay) && containsAll(contentWords(known), words) {
			return true
		}
	}
	return false
}

// saidDay is the mark of markDay.
var saidDay = regexp.MustCompile(` ?\(said (\d{4}-\d\d-\d\d)\)`)

// cutDay removes the mark of the day on which a sentence was said, and returns that day.
func cutDay(sentence string) (rest string, day time.Time) {
	if found := saidDay.FindStringSubmatch(sentence); found != nil {
		day, _ = time.Parse(time.DateOnly, found[1]) // an invalid day is none
	}
	return saidDay.ReplaceAllString(sentence, ""), day
}

// isSameWeek reports whether a relative date said on both days is the same, as "by Friday" is within a week.
func isSameWeek(a, b time.Time) bool {
	return a.IsZero() || b.IsZero() || a.Sub(b).Abs() < 7*24*time.Hour
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'
}

func containsAll(set, words map[string]bool) bool {
	for w := range words {
		if !set[w] {
			return false
		}
	}
	return true
}
