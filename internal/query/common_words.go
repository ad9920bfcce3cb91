package query

import (
	_ "embed"
	"sort"
	"strings"

	"github.com/loci-memory/loci/internal/analysis"
)

// commonWords are frequent English words of four letters or more, sorted, one a line. They are from the vocabulary of
// BERT, which the built-in model uses.
//
//go:embed common_words.txt
var commonWords string

// commonSuffixes are the suffixes that a common word may have.
var commonSuffixes = [...]string{"", "s", "es", "d", "ed", "ing", "ly"}

// isCommonWord reports whether a word is one of everyday language, which is never corrected.
func isCommonWord(word string) bool {
	if analysis.IsStopWord(word) || analysis.IsForeignMarker(word) {
		return true
	}
	for _, ending := range commonSuffixes {
		if base, ok := strings.CutSuffix(word, ending); ok && inSortedLines(commonWords, base) {
			return true
		}
	}
	return false
}

// inSortedLines reports whether a word is a line of a sorted list.
func inSortedLines(list, word string) bool {
	if word == "" {
		return false
	}
	// The first offset whose next line is not less than the word.
	at := sort.Search(len(list), func(i int) bool { return lineAfter(list, i) >= word })
	return lineAfter(list, at) == word
}

// lineAfter returns the first line that begins at an offset or after it. Each line ends with a line feed.
func lineAfter(list string, at int) string {
	if at > 0 {
		n := strings.IndexByte(list[at-1:], '\n')
		at += n
	}
	line, _, ok := strings.Cut(list[at:], "\n")
	if !ok {
		return "\xff" // greater than all lines
	}
	return line
}
