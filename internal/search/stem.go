package search

import "encoding/binary"

// stems remembers the stems of words, so that most words of a text are stemmed
// without work. A word has one place, and whoever comes to a place that is taken
// takes it over: no list is kept, and nothing in here is a pointer, which the
// collector of garbage would have to follow.
type stems [1 << stemBits]struct {
	word [2]uint64
	stem [maxStemmed]byte
	size uint8 // of the stem; of an empty place zero
}

const (
	stemBits   = 12
	maxStemmed = 16 // longer words are rare and stemmed each time
)

// of appends to out the stem of a word of lower-case letters, which is never
// longer than the word.
func (s *stems) of(out, word []byte) []byte {
	if s == nil || len(word) > maxStemmed {
		return porter(append(out, word...))
	}
	var padded [maxStemmed]byte
	copy(padded[:], word)
	key := [2]uint64{binary.LittleEndian.Uint64(padded[:]), binary.LittleEndian.Uint64(padded[8:])}
	at := &s[(key[0]^key[1]*fnvPrime)*0x9e3779b97f4a7c15>>(64-stemBits)]
	if at.word != key {
		at.word = key
		at.size = uint8(copy(at.stem[:], porter(padded[:len(word)])))
	}
	return append(out, at.stem[:at.size]...)
}
