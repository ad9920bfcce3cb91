package search

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unique"
)

// The head of a segment:
//
//	version   1 byte
//	docs      uvarint, number of documents
//	terms     uvarint, number of distinct terms
//	memories  varint the first, then uvarint the distance to the one before - 1
//	created   varint each, the distance to the one before
//	atlases   table: uvarint count, varint each; then uvarint index a document
//	kinds     1 byte a document
//	statuses  1 byte a document
//	verified  1 bit a document, lowest first
//	validity  uvarint count; for each document that has one: uvarint distance of
//	          its ordinal to the one before, varint time
//	tags      uvarint count, each uvarint length and text
//	tag sets  uvarint count, each uvarint size and uvarint indexes into tags;
//	          then uvarint index a document
//	lengths   uvarint a document
//	pages     uvarint count, first term of each, front coded
//	groups    nothing where no document has one; else uvarint count; for each
//	          document that has one: uvarint distance of its ordinal to the one
//	          before, varint group, varint position
//
// Documents are in the order of their memories. varint is zigzag.
type columns struct {
	memories []int64
	created  []int64
	atlases  []int64 // table
	atlas    []uint32
	kind     []uint8
	status   []uint8
	verified []uint64
	expiring []uint32 // ordinals with an end of validity, rising
	expiry   []int64
	tags     []unique.Handle[string]
	tagSets  [][]uint32
	tagSet   []uint32
	lengths  []uint32
	codes    []uint8 // lengths as the score knows them
	terms    int
	pages    []string
	set      atomic.Pointer[termSet] // of a small segment, once a term was looked up
	grouped  []uint32                // ordinals with a group, rising
	groups   []int64
	position []int64
	kin      func() []uint32 // indexes into grouped, by group and position
	kinds    uint64          // which occur
	statuses uint64
}

// maxAttribute is the highest kind or status: filters have a bit for each.
const maxAttribute = 63

// occurring marks the values of a column that occur. Above the highest one
// none does, but in a broken segment, of which no filter shall think well.
func occurring(column []uint8) (set uint64) {
	for _, v := range column {
		set |= 1 << min(v, maxAttribute)
	}
	return set
}

func (c *columns) docs() int { return len(c.memories) }

// find gives the ordinal of a memory.
func (c *columns) find(memory int64) (int, bool) {
	return slices.BinarySearch(c.memories, memory)
}

// validUntil is zero for documents that never expire.
func (c *columns) validUntil(doc int) int64 {
	if i, ok := slices.BinarySearch(c.expiring, uint32(doc)); ok {
		return c.expiry[i]
	}
	return 0
}

func (c *columns) isVerified(doc int) bool { return isSet(c.verified, doc) }

// attributes gives a document's attributes as they were handed in.
func (c *columns) attributes(doc int) Attributes {
	a := Attributes{
		Memory: c.memories[doc], Atlas: c.atlases[c.atlas[doc]], Created: c.created[doc],
		ValidUntil: c.validUntil(doc), Kind: c.kind[doc], Status: c.status[doc],
		Verified: c.isVerified(doc),
	}
	for _, t := range c.tagSets[c.tagSet[doc]] {
		a.Tags = append(a.Tags, c.tags[t].Value())
	}
	a.Group, a.Position = c.place(doc)
	return a
}

// place is where a document stands in its group; group zero is none.
func (c *columns) place(doc int) (group, position int64) {
	if i, ok := slices.BinarySearch(c.grouped, uint32(doc)); ok {
		return c.groups[i], c.position[i]
	}
	return 0, 0
}

// columnsBuilder collects documents in the order of their memories.
type columnsBuilder struct {
	columns
	atlasIndex map[int64]uint32
	tagIndex   map[unique.Handle[string]]uint32
	setIndex   map[string]uint32
	key        []byte
}

func newColumns() *columnsBuilder {
	return &columnsBuilder{atlasIndex: map[int64]uint32{}, tagIndex: map[unique.Handle[string]]uint32{}, setIndex: map[string]uint32{}}
}

func (b *columnsBuilder) add(a Attributes, length uint32) {
	doc := len(b.memories)
	b.memories = append(b.memories, a.Memory)
	b.created = append(b.created, a.Created)
	b.atlas = append(b.atlas, intern(b.atlasIndex, &b.atlases, a.Atlas))
	b.kind = append(b.kind, a.Kind)
	b.status = append(b.status, a.Status)
	if doc%64 == 0 {
		b.verified = append(b.verified, 0)
	}
	if a.Verified {
		b.verified[doc/64] |= 1 << (doc % 64)
	}
	if a.ValidUntil != 0 {
		b.expiring = append(b.expiring, uint32(doc))
		b.expiry = append(b.expiry, a.ValidUntil)
	}
	if a.Group != 0 {
		b.grouped = append(b.grouped, uint32(doc))
		b.groups, b.position = append(b.groups, a.Group), append(b.position, a.Position)
	}
	b.tagSet = append(b.tagSet, b.set(a.Tags))
	b.lengths = append(b.lengths, length)
	b.codes = append(b.codes, lengthCode(length))
}

func intern[T comparable](index map[T]uint32, table *[]T, v T) uint32 {
	i, ok := index[v]
	if !ok {
		i = uint32(len(*table))
		index[v] = i
		*table = append(*table, v)
	}
	return i
}

// set interns a document's tags; documents mostly share few sets.
func (b *columnsBuilder) set(tags []string) uint32 {
	b.key = b.key[:0]
	set := make([]uint32, len(tags))
	for i, t := range tags {
		set[i] = intern(b.tagIndex, &b.tags, unique.Make(t))
		b.key = binary.AppendUvarint(b.key, uint64(set[i]))
	}
	i, ok := b.setIndex[string(b.key)]
	if !ok {
		i = uint32(len(b.tagSets))
		b.setIndex[string(b.key)] = i
		b.tagSets = append(b.tagSets, set)
	}
	return i
}

func appendVarint(out []byte, v int64) []byte { return binary.AppendVarint(out, v) }

func appendCount(out []byte, n int) []byte { return binary.AppendUvarint(out, uint64(n)) }

func (c *columns) encode() []byte {
	out := make([]byte, 0, 16*len(c.memories)+64)
	out = append(out, FormatVersion)
	out = appendCount(out, len(c.memories))
	out = appendCount(out, c.terms)
	out = c.encodeTimes(out)
	out = appendCount(out, len(c.atlases))
	for _, a := range c.atlases {
		out = appendVarint(out, a)
	}
	out = appendAll(out, c.atlas)
	out = append(out, c.kind...)
	out = append(out, c.status...)
	out = append(out, packBits(c.verified, len(c.memories))...)
	out = c.encodeExpiry(out)
	out = c.encodeTags(out)
	out = appendAll(out, c.lengths)
	out = appendCount(out, len(c.pages))
	last := ""
	for _, p := range c.pages {
		out = appendText(out, last, p)
		last = p
	}
	return c.encodeGroups(out)
}

func (c *columns) encodeGroups(out []byte) []byte {
	if len(c.grouped) == 0 {
		return out
	}
	out = appendCount(out, len(c.grouped))
	last := uint32(0)
	for i, doc := range c.grouped {
		out = binary.AppendUvarint(out, uint64(doc-last))
		out = appendVarint(appendVarint(out, c.groups[i]), c.position[i])
		last = doc
	}
	return out
}

func (c *columns) encodeTimes(out []byte) []byte {
	for i, m := range c.memories {
		if i == 0 {
			out = appendVarint(out, m)
		} else {
			out = binary.AppendUvarint(out, uint64(m)-uint64(c.memories[i-1])-1)
		}
	}
	last := int64(0)
	for _, t := range c.created {
		out = appendVarint(out, t-last)
		last = t
	}
	return out
}

func (c *columns) encodeExpiry(out []byte) []byte {
	out = appendCount(out, len(c.expiring))
	last := uint32(0)
	for i, doc := range c.expiring {
		out = binary.AppendUvarint(out, uint64(doc-last))
		out = appendVarint(out, c.expiry[i])
		last = doc
	}
	return out
}

func (c *columns) encodeTags(out []byte) []byte {
	out = appendCount(out, len(c.tags))
	for _, t := range c.tags {
		out = appendCount(out, len(t.Value()))
		out = append(out, t.Value()...)
	}
	out = appendCount(out, len(c.tagSets))
	for _, set := range c.tagSets {
		out = appendAll(appendCount(out, len(set)), set)
	}
	return appendAll(out, c.tagSet)
}

func appendAll(out []byte, list []uint32) []byte {
	for _, v := range list {
		out = binary.AppendUvarint(out, uint64(v))
	}
	return out
}

func packBits(words []uint64, n int) []byte {
	var out []byte
	for _, w := range words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out[:(n+7)/8]
}
