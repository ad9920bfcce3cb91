package index

import (
	"slices"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// Terms match a word of at least twoEditsMinRunes characters within maxEdits edits, and a shorter word within one.
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
	s := &EditDistanceMatcher{word: []rune(word), MaxDistance: 1}
	s.letterMask, _ = letterMaskOf([]byte(word))
	if len(s.word) >= twoEditsMinRunes {
		s.MaxDistance = maxEdits
	}
	all := make([]uint8, len(s.rows)*(len(s.word)+1))
	for i := range s.rows {
		s.rows[i], all = all[:len(s.word)+1], all[len(s.word)+1:]
	}
	for j := range s.rows[0] {
		s.rows[0][j] = uint8(j)
	}
	return s
}

// prefixes returns the prefixes of matching terms: the first letter of the word, or its first two letters swapped.
func (s *EditDistanceMatcher) prefixes() []string {
	a, b := s.word[0], s.word[1]
	if a == b {
		return []string{string(a)}
	}
	return []string{string(a), string([]rune{b, a})}
}

// maxMaskDiff returns the number of bits in which the letter mask of a term of the given length may differ. A replaced
// letter changes two bits, an inserted or deleted one changes one. The result is negative if the length alone differs
// too much.
func (s *EditDistanceMatcher) maxMaskDiff(runes int) int {
	short := len(s.word) - runes
	if short = max(short, -short); short > s.MaxDistance {
		return -1
	}
	return 2*s.MaxDistance - short
}

// distance returns the distance of a term to the word, or a number above MaxDistance.
func (s *EditDistanceMatcher) distance(term []byte) int {
	n := commonPrefixLen(s.prefix, term)
	if n == len(s.prefix) && s.exceeded {
		return s.MaxDistance + 1
	}
	for s.prefixEnds[s.depth] > n {
		s.depth--
	}
	n = s.prefixEnds[s.depth]
	s.exceeded = false
	for n < len(term) && !s.exceeded {
		r, size := utf8.DecodeRune(term[n:])
		n += size
		s.exceeded = s.extend(r) > s.MaxDistance
		s.prefixEnds[s.depth] = n
	}
	s.prefix = append(s.prefix[:0], term[:n]...)
	if s.exceeded {
		return s.MaxDistance + 1
	}
	return int(s.rows[s.depth][len(s.word)])
}

// extend adds the row of another character, and returns the least distance of any term with that prefix.
func (s *EditDistanceMatcher) extend(r rune) int {
	s.depth++
	s.runes[s.depth] = r
	row, before := s.rows[s.depth], s.rows[s.depth-1]
	row[0] = uint8(s.depth)
	for j, c := range s.word {
		d := before[j]
		if c != r {
			d++
		}
		d = min(d, before[j+1]+1, row[j]+1)
		if j > 0 && s.depth > 1 && r == s.word[j-1] && c == s.runes[s.depth-1] {
			d = min(d, s.rows[s.depth-2][j-1]+1)
		}
		row[j+1] = d
	}
	return int(slices.Min(row))
}
