package index

import (
	"slices"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// Terms match a word of at least twoEditsMinRunes characters within maxEdits edits, and a shorter word within one. With
// 6, as AUTO fuzziness of Elasticsearch has it, code loses .003 of nDCG@10 (measured with one typo a query).
const (
	twoEditsMinRunes = 8
	maxEdits         = 2
)

// An EditDistanceMatcher computes the distance of terms to a word in characters: optimal string alignment. This is the
// restricted distance of Damerau (A technique for computer detection and correction of spelling errors, 1964).
// Successive terms share the matrix rows of their common prefix.
type EditDistanceMatcher struct {
	word        []rune
	letterMask  uint64 // letters of the word
	MaxDistance int    // greater distances are not computed exactly

	prefix []byte // of the term before, as far as rows has it
	// rows[i][j] is the distance of the first i characters of the term to the first j of the word.
	rows       [analysis.MaxTermBytes + 2][]uint8
	prefixEnds [analysis.MaxTermBytes + 2]int // byte offsets in prefix where the characters end
	runes      [analysis.MaxTermBytes + 2]rune
	depth      int
	exceeded   bool // no term with this prefix is near enough
}

// NewEditDistanceMatcher returns a matcher for a word of at least two characters.
func NewEditDistanceMatcher(word string) *EditDistanceMatcher {
	m := &EditDistanceMatcher{word: []rune(word), MaxDistance: 1}
	m.letterMask, _ = letterMaskOf([]byte(word))
	if len(m.word) >= twoEditsMinRunes {
		m.MaxDistance = maxEdits
	}
	all := make([]uint8, len(m.rows)*(len(m.word)+1))
	for i := range m.rows {
		m.rows[i], all = all[:len(m.word)+1], all[len(m.word)+1:]
	}
	for j := range m.rows[0] {
		m.rows[0][j] = uint8(j)
	}
	return m
}

// prefixes returns the prefixes of matching terms: the first letter of the word, or its first two letters swapped.
func (m *EditDistanceMatcher) prefixes() []string {
	a, b := m.word[0], m.word[1]
	if a == b {
		return []string{string(a)}
	}
	return []string{string(a), string([]rune{b, a})}
}

// maxMaskDiff returns the number of bits in which the letter mask of a term of the given length may differ. A replaced
// letter changes two bits, an inserted or deleted one changes one. The result is negative if the length alone differs
// too much.
func (m *EditDistanceMatcher) maxMaskDiff(runes int) int {
	short := len(m.word) - runes
	if short = max(short, -short); short > m.MaxDistance {
		return -1
	}
	return 2*m.MaxDistance - short
}

// distance returns the distance of a term to the word, or a number above MaxDistance.
func (m *EditDistanceMatcher) distance(term []byte) int {
	n := commonPrefixLen(m.prefix, term)
	if n == len(m.prefix) && m.exceeded {
		return m.MaxDistance + 1
	}
	for m.prefixEnds[m.depth] > n {
		m.depth--
	}
	n = m.prefixEnds[m.depth]
	m.exceeded = false
	for n < len(term) && !m.exceeded {
		r, size := utf8.DecodeRune(term[n:])
		n += size
		m.exceeded = m.extend(r) > m.MaxDistance
		m.prefixEnds[m.depth] = n
	}
	m.prefix = append(m.prefix[:0], term[:n]...)
	if m.exceeded {
		return m.MaxDistance + 1
	}
	return int(m.rows[m.depth][len(m.word)])
}

// extend adds the row of another character, and returns the least distance of any term with that prefix.
func (m *EditDistanceMatcher) extend(r rune) int {
	m.depth++
	m.runes[m.depth] = r
	row, before := m.rows[m.depth], m.rows[m.depth-1]
	row[0] = uint8(m.depth)
	for j, c := range m.word {
		d := before[j]
		if c != r {
			d++
		}
		d = min(d, before[j+1]+1, row[j]+1)
		if j > 0 && m.depth > 1 && r == m.word[j-1] && c == m.runes[m.depth-1] {
			d = min(d, m.rows[m.depth-2][j-1]+1)
		}
		row[j+1] = d
	}
	return int(slices.Min(row))
}
