package store

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"

	"github.com/loci-memory/loci"
)

// A digest is the SHA-256 of fields, none of which can run into the next.
type digest struct{ hash.Hash }

func (d digest) numbers(list ...int64) {
	for _, n := range list {
		d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
}

func (d digest) texts(list ...string) {
	for _, s := range list {
		d.numbers(int64(len(s)))
		d.Write([]byte(s))
	}
}

func (d digest) confidence(c *loci.Confidence) {
	if c != nil {
		d.numbers(int64(math.Float64bits(float64(*c))))
	}
}

// checksum returns 64 bits of the digest.
func (d digest) checksum() int64 { return int64(binary.BigEndian.Uint64(d.Sum(nil))) }

// memoryChecksum returns the checksum of all that a memory says at present. Links to other
// memories are left out: both ends of a link say the same, and one mends the other.
func memoryChecksum(m loci.Memory) int64 {
	d := digest{sha256.New()}
	d.texts(m.ID, m.Title, m.Content, string(m.Type), texts(m.Tags), string(m.Status), m.CreatedBy, m.VerifiedBy, m.Evidence)
	d.numbers(int64(m.Version), int64(m.CreatedAt), int64(m.UpdatedAt), int64(m.ArchivedAt), int64(m.VerifiedAt), int64(m.ValidUntil))
	var source loci.Source
	if m.Source != nil {
		source = *m.Source
	}
	d.texts(string(source.Name), string(source.URI), string(source.Group))
	if source.Position != nil {
		d.numbers(1, *source.Position)
	} else {
		d.numbers(0)
	}
	d.confidence(m.Confidence)
	return d.checksum()
}

// versionChecksum is that of a version with its whole text, wherever that is kept.
func versionChecksum(v loci.MemoryVersion) int64 {
	d := digest{sha256.New()}
	d.texts(v.Title, v.Content, string(v.Type), texts(v.Tags), string(v.Status), v.VerifiedBy, v.Evidence)
	d.numbers(int64(v.Version), int64(v.VerifiedAt), int64(v.ValidUntil), int64(v.CreatedAt))
	d.confidence(v.Confidence)
	return d.checksum()
}

// vectorChecksum is that of a passage's vector. A vector that is copied to another
// memory with the same text keeps it.
func vectorChecksum(text int64, passage int, vector []byte) int64 {
	d := digest{sha256.New()}
	d.numbers(text, int64(passage))
	d.Write(vector)
	return d.checksum()
}
