package query

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/analysis"
)

// commonWords are frequent English words of four letters or more, sorted, one a line. They are from the vocabulary of
// BERT, which the built-in model uses.
//
//go:embed common_words.txt
var commonWords string

var commonWordList = sync.OnceValue(func() []string { return strings.Fields(commonWords) })

// commonSuffixes are the suffixes that a common word may have.
var commonSuffixes = [...]string{"", "s", "es", "d", "ed", "ing", "ly"}

// isCommonWord reports whether a word is one of everyday language, which is never corrected.
func isCommonWord(word string) bool {
	if analysis.IsStopWord(word) || analysis.IsForeignMarker(word) {
		return true
	}
	for _, ending := range commonSuffixes {
		if base, ok := strings.CutSuffix(word, ending); ok {
			if _, found := slices.BinarySearch(commonWordList(), base); found {
				return true
			}
		}
	}
	return false
}
