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

// A shower writes and recognizes memories.
type shower struct {
	block cipher.Block
	known map[[shownBytes]byte]bool
}

func (s *Store) shower(before Shown) *shower {
	key := sha256.Sum256(append([]byte("loci pages of a search\n"), s.secret...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	w := &shower{block, make(map[[shownBytes]byte]bool, before.Len())}
	for i := range before.Len() {
		w.known[[shownBytes]byte([]byte(before[i*shownBytes:][:shownBytes]))] = true
	}
	return w
}

func (w *shower) mark(memory int64) (m [shownBytes]byte) {
	var block [aes.BlockSize]byte
	binary.BigEndian.PutUint64(block[:], uint64(memory))
	w.block.Encrypt(block[:], block[:])
	return [shownBytes]byte(block[:shownBytes])
}
