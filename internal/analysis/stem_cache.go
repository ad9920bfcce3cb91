package analysis

// StemCache caches the stems of words, so that most words of a text need no stemming. A word has one slot, and replaces
// the word in it, so there is no list. It contains no pointers, which the garbage collector would have to follow.
type StemCache [1 << stemCacheBits]struct {
	word [2]uint64
	stem [maxCachedStem]byte
	size uint8 // of the stem
}

const (
	stemCacheBits = 12
	maxCachedStem = 16 // longer words are rare and stemmed each time
)

// stem returns the stem of a word of lower-case letters, of at most maxCachedStem. It is never longer than the word,
// and valid until the next call.
func (s *StemCache) stem(word []byte) []byte {
	key := [2]uint64{LoadUint64(word), LoadUint64(word[min(8, len(word)):])}
	at := &s[(key[0]^key[1]*FNVPrime)*0x9e3779b97f4a7c15>>(64-stemCacheBits)]
	if at.word != key {
		at.word = key
		at.size = uint8(copy(at.stem[:], Porter(append(at.stem[:0], word...))))
	}
	return at.stem[:at.size]
}

// LoadUint64 returns the first eight bytes of a text as a little-endian number. A copy into an array first would stall
// the processor.
func LoadUint64[T string | []byte](t T) (n uint64) {
	if len(t) >= 8 {
		return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
			uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
	}
	for i := range len(t) {
		n |= uint64(t[i]) << (8 * i)
	}
	return n
}
