package query

import (
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// Least numbers of characters of both parts of a broken word.
const (
	minFirstPart  = 3
	minSecondPart = 2
)

// breakWord breaks an unknown compound into two words that some document has: "white box" for whitebox. The parts with
// the highest common document frequency win, then the longer first part.
func (v *vocabulary) breakWord(word string) (best string, ok bool, err error) {
	most := 0
	for at := range word {
		if utf8.RuneCountInString(word[:at]) < minFirstPart || utf8.RuneCountInString(word[at:]) < minSecondPart ||
			analysis.IsStopWord(word[:at]) || analysis.IsStopWord(word[at:]) {
			continue
		}
		n, err := v.CoDocFreq(word[:at], word[at:])
		if err != nil {
			return "", false, err
		}
		if n > 0 && n >= most {
			best, most = word[:at]+" "+word[at:], n
		}
	}
	return best, most > 0, nil
}
