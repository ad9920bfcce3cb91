// Package checksum computes the checksums of memories and versions that the database keeps beside them.
package checksum

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A digest computes the SHA-256 of a sequence of fields, each with its length.
type digest struct{ hash.Hash }

func (d digest) writeInts(list ...int64) {
	for _, n := range list {
		d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
}

func (d digest) writeStrings(list ...string) {
	for _, s := range list {
		d.writeInts(int64(len(s)))
		d.Write([]byte(s))
	}
}

func (d digest) confidence(c *loci.Confidence) {
	if c != nil {
		d.writeInts(int64(math.Float64bits(float64(*c))))
	}
}

// titleDerived leaves the checksum of a given title as it was before the flag was stored.
func (d digest) titleDerived(derived bool) {
	if derived {
		d.writeStrings("title derived")
	}
}

// sum64 returns the first 64 bits of the digest.
func (d digest) sum64() int64 { return int64(binary.BigEndian.Uint64(d.Sum(nil))) }

// Memory returns the checksum of the present version of a memory. It excludes links to other memories, which
// are stored at both ends: a repair derives one end from the other.
func Memory(m loci.Memory) int64 {
	d := digest{sha256.New()}
	d.writeStrings(string(m.ID), m.Title, m.Content, string(m.Type), sqldb.EncodeStrings(m.Tags), string(m.Status),
		string(m.CreatedBy), string(m.VerifiedBy), m.Evidence)
	d.writeInts(int64(m.Version), int64(m.CreatedAt), int64(m.UpdatedAt), int64(m.ArchivedAt), int64(m.VerifiedAt),
		int64(m.ValidUntil))
	var source loci.Source
	if m.Source != nil {
		source = *m.Source
	}
	d.writeStrings(string(source.Name), string(source.URI), string(source.Group))
	if source.Position != nil {
		d.writeInts(1, *source.Position)
	} else {
		d.writeInts(0)
	}
	d.confidence(m.Confidence)
	if m.AgentID != "" || m.SessionID != "" { // those without have the checksum of a time before the fields
		d.writeStrings(string(m.AgentID), string(m.SessionID))
	}
	d.titleDerived(m.TitleDerived)
	return d.sum64()
}

// Version returns the checksum of a version with its content, wherever that is stored.
func Version(v loci.MemoryVersion) int64 {
	d := digest{sha256.New()}
	d.writeStrings(v.Title, v.Content, string(v.Type), sqldb.EncodeStrings(v.Tags), string(v.Status),
		string(v.VerifiedBy), v.Evidence)
	d.writeInts(int64(v.Version), int64(v.VerifiedAt), int64(v.ValidUntil), int64(v.CreatedAt))
	d.confidence(v.Confidence)
	d.titleDerived(v.TitleDerived)
	return d.sum64()
}
