package extract

import (
	"slices"
	"strings"
)

// A vector holds the features of a sentence: those of the cues, then those of shape and place.
type vector []bool

// An entry of the lexicon lists the cues with a phrase. Its phrase may also begin a longer one.
type entry struct {
	cues   []int
	isMore bool
}

var lexicon = makeLexicon()

func makeLexicon() map[string]entry {
	lexicon := map[string]entry{}
	for n, c := range cues {
		for _, phrase := range c.phrases {
			for i := range len(phrase) {
				if phrase[i] == ' ' {
					lexicon[phrase[:i]] = entry{lexicon[phrase[:i]].cues, true}
				}
			}
			e := lexicon[phrase]
			lexicon[phrase] = entry{append(e.cues, n), e.isMore}
		}
	}
	return lexicon
}

// markCues sets the features of all phrases in words.
func (v vector) markCues(words string) {
	eachPhrase(words, func(phrase string) {
		for _, c := range lexicon[phrase].cues {
			v[c] = true
		}
	})
}

// eachPhrase visits the phrases of the lexicon in words. The longest phrase bounds the work at each word.
func eachPhrase(words string, visit func(phrase string)) {
	for start := 0; start < len(words); start += wordLen(words[start:]) + 1 {
		for end := start; end < len(words); end++ {
			end += wordLen(words[end:])
			e := lexicon[words[start:end]]
			if len(e.cues) > 0 {
				visit(words[start:end])
			}
			if !e.isMore {
				break
			}
		}
	}
}

func wordLen(s string) int {
	if n := strings.IndexByte(s, ' '); n >= 0 {
		return n
	}
	return len(s)
}

func featureNames() (names []string) {
	for _, c := range cues {
		names = append(names, c.name)
	}
	return append(names, shapeNames[:]...)
}

// A group lists cues by their position in the table.
type group []int

func groupOf(names ...string) (g group) {
	for _, name := range names {
		for n, c := range cues {
			if c.name == name {
				g = append(g, n)
			}
		}
	}
	if len(g) != len(names) {
		panic("extract: a cue of " + strings.Join(names, ", ") + " is not in the table")
	}
	return g
}

func (v vector) has(g group) bool {
	return slices.ContainsFunc(g, func(n int) bool { return v[n] })
}
