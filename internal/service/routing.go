package service

import (
	"strings"

	"github.com/loci-memory/loci/internal/analysis"
)

// matchAtlas returns the index of the atlas whose routing keywords match the
// normalized words best, and the matching keywords; -1 if none does. Words are compared as
// in a search: runs of letters and digits in any letter case, ß as in STRASSE.
// In scripts without spaces a keyword matches wherever its characters follow
// one another. A keyword of several words matches where the words follow one
// another. The most different keywords win, then the first atlas.
func matchAtlas(keywords [][]string, words func() string) (best int, matched []string) {
	best = -1
	var text string
	for i, list := range keywords {
		if len(list) > 0 && text == "" {
			text = words()
		}
		var hit []string
		seen := map[string]bool{}
		for _, k := range list {
			row := analysis.NormalizedWords(k)
			if row != " " && !seen[row] && strings.Contains(text, row) {
				seen[row] = true
				hit = append(hit, k)
			}
		}
		if len(hit) > len(matched) {
			best, matched = i, hit
		}
	}
	return best, matched
}
