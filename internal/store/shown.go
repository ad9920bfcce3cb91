package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
)

// Shown are the memories that earlier pages of a search have shown, as a cursor carries
// them: a few bytes of each, which tell nothing to who has no secret of the store. What
// is written between two pages moves ranks, so that a number of ranks to skip would
// show some memories twice and others never.
type Shown string

// shownBytes is the size of one memory. Of the most that can be shown, two look alike
// once in a million walks.
const shownBytes = 5

// Len is how many memories were shown.
func (s Shown) Len() int { return len(s) / shownBytes }

// A shownMark is one memory.
type shownMark [shownBytes]byte

func (s Shown) marks() map[shownMark]bool {
	known := make(map[shownMark]bool, s.Len())
	for i := range s.Len() {
		known[shownMark([]byte(s[i*shownBytes:][:shownBytes]))] = true
	}
	return known
}

// newShown makes what writes memories as the secret of a store has it.
func newShown(secret []byte) cipher.Block {
	key := sha256.Sum256(append([]byte("loci pages of a search\n"), secret...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	return block
}

func (s *Store) shownMark(memory int64) shownMark {
	var block [aes.BlockSize]byte
	binary.BigEndian.PutUint64(block[:], uint64(memory))
	s.shown.Encrypt(block[:], block[:])
	return shownMark(block[:shownBytes])
}
