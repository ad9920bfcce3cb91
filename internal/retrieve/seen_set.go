package retrieve

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
)

// A SeenSet is the memories of earlier pages of a search. In the form of a cursor, it has a few encrypted bytes of
// each. Writes between two pages move ranks, so skipping a number of ranks would show some memories twice and others
// never.
type SeenSet string

// seenTagSize is the size of the tag of a memory. Two of MaxPagedResults memories have the same tag in one of a million
// searches.
const seenTagSize = 5

// Len returns the number of memories that were shown.
func (s SeenSet) Len() int { return len(s) / seenTagSize }

// A seenTag is one memory in a SeenSet.
type seenTag [seenTagSize]byte

func (s SeenSet) tags() map[seenTag]bool {
	known := make(map[seenTag]bool, s.Len())
	for i := range s.Len() {
		known[seenTag([]byte(s[i*seenTagSize:][:seenTagSize]))] = true
	}
	return known
}

// newSeenCipher derives the cipher of SeenSets from the secret of a database.
func newSeenCipher(secret []byte) cipher.Block {
	key := sha256.Sum256(append([]byte("loci pages of a search\n"), secret...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	return block
}

func (s *Searcher) seenTag(memory int64) seenTag {
	var block [aes.BlockSize]byte
	binary.BigEndian.PutUint64(block[:], uint64(memory))
	s.seenCipher.Encrypt(block[:], block[:])
	return seenTag(block[:seenTagSize])
}
