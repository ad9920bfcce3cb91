// Package seal compresses and encrypts stored responses.
package seal

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"io"
)

// Seal compresses a response, or another text, and encrypts it with AES-256-GCM: it cannot be read from the database
// without the credential.
func Seal(key [32]byte, response []byte) []byte {
	return newGCM(key).Seal(nil, nil, compress(response), nil)
}

// Open reverses Seal.
func Open(key [32]byte, sealed []byte) ([]byte, error) {
	packed, err := newGCM(key).Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, err
	}
	return decompress(packed)
}

// Sizes of stored responses in bytes.
const (
	compressThreshold = 4 << 10 // longer ones are compressed
	maxResponseBytes  = 64 << 20
)

// magic are the first bytes of what gzip compressed.
var magic = []byte{0x1f, 0x8b}

// compress compresses a long response with gzip. It also compresses a short text that starts with the magic bytes, as
// random bytes may, because only they tell decompress what to do.
func compress(body []byte) []byte {
	if len(body) < compressThreshold && !bytes.HasPrefix(body, magic) {
		return body
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // fails only for an unknown level
	w.Write(body)                                   // a Buffer returns no errors
	w.Close()
	return b.Bytes()
}

// decompress reverses compress.
func decompress(packed []byte) ([]byte, error) {
	if !bytes.HasPrefix(packed, magic) {
		return packed, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxResponseBytes))
}

func newGCM(key [32]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	g, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return g
}
