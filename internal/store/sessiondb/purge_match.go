package sessiondb

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// minQuoted is the fewest bytes of a text that is looked for within others. A shorter one is in too many of them.
const minQuoted = 16

// A textMatcher recognizes texts that are those of a memory, or quote one of them.
type textMatcher struct {
	equal  map[string]bool
	quoted []string
	inJSON []string // quoted, as they are in a JSON text
}

func newTextMatcher(texts []string) *textMatcher {
	m := &textMatcher{equal: map[string]bool{}}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	for _, text := range texts {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		m.equal[text] = true
		// A text that quotes the longer one quotes the shorter one too.
		if len(text) >= minQuoted && !containsAny(text, m.quoted) {
			m.quoted = append(m.quoted, text)
			encoded, _ := json.Marshal(text) // a string
			m.inJSON = append(m.inJSON, string(encoded[1:len(encoded)-1]))
		}
	}
	return m
}

func containsAny(text string, list []string) bool {
	return slices.ContainsFunc(list, func(part string) bool { return strings.Contains(text, part) })
}

// matches reports whether one of the texts holds a text of the memory.
func (m *textMatcher) matches(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		return text != "" && (m.equal[strings.TrimSpace(text)] || containsAny(text, m.quoted))
	})
}

// matchesJSON reports whether a JSON text holds a text of the memory.
func (m *textMatcher) matchesJSON(text string) bool { return text != "" && containsAny(text, m.inJSON) }

// withoutSimilar returns a list of similar memories, as it is stored, without a memory.
func withoutSimilar(list string, id loci.ID) string {
	similar := []loci.SimilarToMemory{}
	if json.Unmarshal([]byte(list), &similar) != nil {
		return sqldb.EmptyList // damaged: nothing needs it
	}
	similar = slices.DeleteFunc(similar, func(x loci.SimilarToMemory) bool { return x.MemoryID == id })
	b, err := json.Marshal(similar)
	if err != nil {
		return sqldb.EmptyList
	}
	return string(b)
}
