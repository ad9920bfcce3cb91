package service

import (
	"strings"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/store"
)

// An atlasMatch is the index of the atlas whose routing keywords match a text best, or -1, and those keywords.
type atlasMatch struct {
	atlas    int
	keywords []string
}

// matchText is matchAtlas, for a long text or many keywords outside of the transaction.
func matchText(tx *store.Tx, keywords [][]string, texts []string) (atlasMatch, error) {
	if len(keywords) == 0 {
		return atlasMatch{atlas: -1}, nil
	}
	key := make([]string, len(keywords))
	for i, list := range keywords {
		key[i] = strings.Join(list, "\x00")
	}
	return store.Compute(tx, analysis.NormalSize(texts...)+analysis.NormalSize(key...), func() atlasMatch {
		return matchAtlas(keywords, texts...)
	}, key...)
}

// matchAtlas compares words as a search does: runs of letters and digits in any letter case, ß as in STRASSE. In
// scripts without spaces a keyword matches wherever its characters follow one another. A keyword of several words
// matches where the words follow one another. The most different keywords win, then the first atlas.
func matchAtlas(keywords [][]string, texts ...string) atlasMatch {
	best, text := atlasMatch{atlas: -1}, analysis.NormalizedWords(texts...)
	for i, list := range keywords {
		var hit []string
		seen := map[string]bool{}
		for _, k := range list {
			row := analysis.NormalizedWords(k)
			if row != " " && !seen[row] && strings.Contains(text, row) {
				seen[row] = true
				hit = append(hit, k)
			}
		}
		if len(hit) > len(best.keywords) {
			best = atlasMatch{i, hit}
		}
	}
	return best
}
