// Package seal compresses and encrypts stored responses.
package seal

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"io"
	"sync"
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

// First bytes of compressed texts: those of gzip, and of what flate compressed with the dictionary.
var (
	magic     = []byte{0x1f, 0x8b}
	flateMark = []byte{0x01}
)

// dictionary has what short responses have in common, the most frequent last. Stored responses need the same one.
const dictionary = `"supersedes":[],"supersededBy":"019","verifiedAt":"2026-","verifiedBy":"019","evidence":"",` +
	`"confidence":"high","validUntil":"2026-","expired":true,"archivedAt":"2026-","source":{"name":"","uri":"https://",` +
	`"group":"","position":},"duplicateOf":"019","score":0.,"email":"","role":"owner"` +
	`{"session":{"message":{"candidate":{"event":{"from":{"name":" the of and to in is that for with on as are was ` +
	`this be not by from it {"memory":{` +
	`"id":"019","workspaceId":"019","atlasId":"019","title":"","content":"","type":"note","tags":["fact","decision",` +
	`"preference","task","architecture"],"status":"active","version":1,"createdBy":"019","agentId":"019",` +
	`"sessionId":"019","createdAt":"2026-","updatedAt":"2026-","titleDerived":true},"routing":{"atlasId":"019",` +
	`"matched":[]},"similar":[]}`

// writers have tables of 800 KB each.
var writers = sync.Pool{New: func() any {
	w, _ := flate.NewWriterDict(nil, flate.DefaultCompression, []byte(dictionary)) // fails only for an unknown level
	return w
}}

// compress compresses a long text with gzip, and a short one by the dictionary if that makes it shorter. It also
// compresses a short text that starts with the first bytes of a compressed one, as random bytes may.
func compress(body []byte) []byte {
	looksCompressed := bytes.HasPrefix(body, magic) || bytes.HasPrefix(body, flateMark)
	var b bytes.Buffer
	if len(body) >= compressThreshold || looksCompressed {
		w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // fails only for an unknown level
		w.Write(body)                                   // a Buffer returns no errors
		w.Close()
		return b.Bytes()
	}
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	b.Write(flateMark)
	w.Reset(&b)
	w.Write(body)
	w.Close()
	if b.Len() < len(body) {
		return b.Bytes()
	}
	return body
}

// decompress reverses compress.
func decompress(packed []byte) ([]byte, error) {
	var r io.Reader
	switch {
	case bytes.HasPrefix(packed, flateMark):
		r = flate.NewReaderDict(bytes.NewReader(packed[len(flateMark):]), []byte(dictionary))
	case bytes.HasPrefix(packed, magic):
		unzipped, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		r = unzipped
	default:
		return packed, nil
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
