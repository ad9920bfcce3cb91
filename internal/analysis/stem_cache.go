package analysis

// StemCache caches the stems of words, so that most words of a text need no stemming. It is not safe for concurrent
// use.
type StemCache map[string][]byte

// Bounds of a cache: the number of words, and their length in bytes. Longer words are rare.
const (
	maxStems      = 1 << 12
	maxCachedStem = 16
)

// stem returns the stem of a word of lower-case letters.
func (s StemCache) stem(word []byte) []byte {
	stem, known := s[string(word)]
	if !known {
		if len(s) == maxStems {
			clear(s)
		}
		stem = Porter(append([]byte(nil), word...))
		s[string(word)] = stem
	}
	return stem
}
