package query

import (
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// The shortest first and second part of a word that is two words in the texts, in
// characters.
const (
	minFirstPart  = 3
	minSecondPart = 2
)

// breakWord finds two words, with a space between them, for an unknown word that is both of
// them written as one: "white box" for whitebox. Some document holds both; of several
// ways, that counts which most documents hold, then that with the longer first part.
func (d *vocabulary) breakWord(word string) (best string, ok bool, err error) {
	most := 0
	for at := range word {
		if utf8.RuneCountInString(word[:at]) < minFirstPart || utf8.RuneCountInString(word[at:]) < minSecondPart ||
			analysis.IsStopWord(word[:at]) || analysis.IsStopWord(word[at:]) {
			continue
		}
		n, err := d.CoDocFreq(word[:at], word[at:])
		if err != nil {
			return "", false, err
		}
		if n > 0 && n >= most {
			best, most = word[:at]+" "+word[at:], n
		}
	}
	return best, most > 0, nil
}
