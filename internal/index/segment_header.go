package index

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unique"
)

// segmentHeader is the header of a segment: the columns of its documents and the first term of each page. The format
// is:
//
//	version   1 byte
//	docs      uvarint, number of documents
//	terms     uvarint, number of distinct terms
//	memories  varint the first, then uvarint the distance to the one before - 1
//	created   varint each, the distance to the one before
//	atlases   table: uvarint count, varint each; then uvarint index a document
//	types     1 byte a document
//	statuses  1 byte a document
//	verified  1 bit a document, least significant bit first
//	expiry    uvarint count; for each document that expires: uvarint distance of
//	          its ordinal to the one before, varint time
//	tags      uvarint count, each uvarint length and text
//	tag sets  uvarint count, each uvarint size and uvarint indexes into tags;
//	          then uvarint index a document
//	lengths   uvarint a document
//	pages     uvarint count, first term of each, front coded
//	groups    absent if no document has a group; else uvarint count; for each
//	          document with a group: uvarint distance of its ordinal to the one
//	          before, varint group, varint position
//
// Documents are sorted by memory id. A varint is zigzag encoded.
type segmentHeader struct {
	memories       []int64
	created        []int64
	atlases        []int64 // distinct values; atlas has indexes into it
	atlas          []uint32
	memoryType     []uint8
	status         []uint8
	verified       []uint64
	expiringDocs   []uint32 // ordinals of the documents that expire, ascending
	expiry         []int64
	tags           []unique.Handle[string]
	tagSets        [][]uint32
	tagSet         []uint32
	lengths        []uint32
	lengthCodes    []uint8 // lengths as one byte each: see EncodeLength
	termCount      int
	pageFirstTerms []string
	bloom          atomic.Pointer[bloomFilter] // of a small segment; built by the first look-up
	groupedDocs    []uint32                    // ordinals of the documents with a group, ascending
	groups         []int64
	positions      []int64
	groupOrder     func() []uint32 // indexes into groupedDocs, sorted by group and position
	typeMask       uint64          // bit set of the types that occur
	statusMask     uint64
	firstCreated   int64 // the bounds of created
	lastCreated    int64
	bytes          int // see size
}

// maxFilterBit is the highest type or status, because filters have 64 bits for each. A segment with a higher one is
// corrupt.
const maxFilterBit = 63

// Docs returns the number of documents, deleted ones included.
func (h *segmentHeader) Docs() int { return len(h.memories) }

// ordinalOf returns the ordinal of the document of a memory.
func (h *segmentHeader) ordinalOf(memory int64) (int, bool) {
	return slices.BinarySearch(h.memories, memory)
}

// Memories returns the memories in ascending order.
func (h *segmentHeader) Memories() []int64 { return h.memories }

// Created returns the time at which the memory of a document was created, in microseconds.
func (h *segmentHeader) Created(doc int) int64 { return h.created[doc] }

// LengthCodes returns the encoded lengths of the documents.
func (h *segmentHeader) LengthCodes() []uint8 { return h.lengthCodes }

// HasGroups reports whether any document belongs to a group.
func (h *segmentHeader) HasGroups() bool { return len(h.groupedDocs) > 0 }

// ValidUntil returns the time at which a document expires, in microseconds. It is zero for documents that never expire.
func (h *segmentHeader) ValidUntil(doc int) int64 {
	if i, ok := slices.BinarySearch(h.expiringDocs, uint32(doc)); ok {
		return h.expiry[i]
	}
	return 0
}

// IsVerified reports whether the memory of a document was verified.
func (h *segmentHeader) IsVerified(doc int) bool { return isSet(h.verified, doc) }

// Attributes returns the attributes of a document.
func (h *segmentHeader) Attributes(doc int) DocAttributes {
	a := DocAttributes{
		Memory: h.memories[doc], Atlas: h.atlases[h.atlas[doc]], Created: h.created[doc],
		ValidUntil: h.ValidUntil(doc), Type: h.memoryType[doc], Status: h.status[doc],
		Verified: h.IsVerified(doc),
	}
	for _, t := range h.tagSets[h.tagSet[doc]] {
		a.Tags = append(a.Tags, h.tags[t].Value())
	}
	a.Group, a.Position = h.GroupOf(doc)
	return a
}

// GroupOf returns the group of a document and its position there. Group zero means that it has none.
func (h *segmentHeader) GroupOf(doc int) (group, position int64) {
	if i, ok := slices.BinarySearch(h.groupedDocs, uint32(doc)); ok {
		return h.groups[i], h.positions[i]
	}
	return 0, 0
}

// segmentHeaderBuilder builds a header from documents in ascending order of memory ids.
type segmentHeaderBuilder struct {
	segmentHeader
	atlasIndex map[int64]uint32
	tagIndex   map[unique.Handle[string]]uint32
	setIndex   map[string]uint32
	keyBuf     []byte
}

func newSegmentHeaderBuilder() *segmentHeaderBuilder {
	return &segmentHeaderBuilder{atlasIndex: map[int64]uint32{}, tagIndex: map[unique.Handle[string]]uint32{},
		setIndex: map[string]uint32{}}
}

func (b *segmentHeaderBuilder) add(a DocAttributes, length uint32) {
	doc := len(b.memories)
	b.memories = append(b.memories, a.Memory)
	b.created = append(b.created, a.Created)
	b.atlas = append(b.atlas, intern(b.atlasIndex, &b.atlases, a.Atlas))
	b.memoryType = append(b.memoryType, a.Type)
	b.status = append(b.status, a.Status)
	if doc%64 == 0 {
		b.verified = append(b.verified, 0)
	}
	if a.Verified {
		b.verified[doc/64] |= 1 << (doc % 64)
	}
	if a.ValidUntil != 0 {
		b.expiringDocs = append(b.expiringDocs, uint32(doc))
		b.expiry = append(b.expiry, a.ValidUntil)
	}
	if a.Group != 0 {
		b.groupedDocs = append(b.groupedDocs, uint32(doc))
		b.groups, b.positions = append(b.groups, a.Group), append(b.positions, a.Position)
	}
	b.tagSet = append(b.tagSet, b.internTagSet(a.Tags))
	b.lengths = append(b.lengths, length)
	b.lengthCodes = append(b.lengthCodes, EncodeLength(length))
}

// intern returns the index of a value in a table, and appends the value if the table lacks it.
func intern[T comparable](index map[T]uint32, table *[]T, v T) uint32 {
	i, ok := index[v]
	if !ok {
		i = uint32(len(*table))
		index[v] = i
		*table = append(*table, v)
	}
	return i
}

// internTagSet returns the index of a set of tags. Most documents share a few sets.
func (b *segmentHeaderBuilder) internTagSet(tags []string) uint32 {
	b.keyBuf = b.keyBuf[:0]
	set := make([]uint32, len(tags))
	for i, t := range tags {
		set[i] = intern(b.tagIndex, &b.tags, unique.Make(t))
		b.keyBuf = binary.AppendUvarint(b.keyBuf, uint64(set[i]))
	}
	i, ok := b.setIndex[string(b.keyBuf)]
	if !ok {
		i = uint32(len(b.tagSets))
		b.setIndex[string(b.keyBuf)] = i
		b.tagSets = append(b.tagSets, set)
	}
	return i
}

func appendCount(out []byte, n int) []byte { return binary.AppendUvarint(out, uint64(n)) }

func (h *segmentHeader) encode() []byte {
	out := make([]byte, 0, 16*len(h.memories)+64)
	out = append(out, FormatVersion)
	out = appendCount(out, len(h.memories))
	out = appendCount(out, h.termCount)
	out = h.encodeIDsAndTimes(out)
	out = appendCount(out, len(h.atlases))
	for _, a := range h.atlases {
		out = binary.AppendVarint(out, a)
	}
	out = appendUvarints(out, h.atlas)
	out = append(out, h.memoryType...)
	out = append(out, h.status...)
	out = append(out, packBits(h.verified, len(h.memories))...)
	out = appendSparse(out, h.expiringDocs, func(out []byte, i int) []byte {
		return binary.AppendVarint(out, h.expiry[i])
	})
	out = h.encodeTags(out)
	out = appendUvarints(out, h.lengths)
	out = appendCount(out, len(h.pageFirstTerms))
	last := ""
	for _, p := range h.pageFirstTerms {
		out = appendFrontCoded(out, last, p)
		last = p
	}
	if len(h.groupedDocs) == 0 {
		return out
	}
	return appendSparse(out, h.groupedDocs, func(out []byte, i int) []byte {
		return binary.AppendVarint(binary.AppendVarint(out, h.groups[i]), h.positions[i])
	})
}

// appendSparse appends a column of some documents, given by their ordinals. decoder.sparseColumn reads it.
func appendSparse(out []byte, docs []uint32, appendValue func(out []byte, i int) []byte) []byte {
	out = appendCount(out, len(docs))
	last := uint32(0)
	for i, doc := range docs {
		out = appendValue(binary.AppendUvarint(out, uint64(doc-last)), i)
		last = doc
	}
	return out
}

func (h *segmentHeader) encodeIDsAndTimes(out []byte) []byte {
	for i, m := range h.memories {
		if i == 0 {
			out = binary.AppendVarint(out, m)
		} else {
			out = binary.AppendUvarint(out, uint64(m)-uint64(h.memories[i-1])-1)
		}
	}
	last := int64(0)
	for _, t := range h.created {
		out = binary.AppendVarint(out, t-last)
		last = t
	}
	return out
}

func (h *segmentHeader) encodeTags(out []byte) []byte {
	out = appendCount(out, len(h.tags))
	for _, t := range h.tags {
		out = appendCount(out, len(t.Value()))
		out = append(out, t.Value()...)
	}
	out = appendCount(out, len(h.tagSets))
	for _, set := range h.tagSets {
		out = appendUvarints(appendCount(out, len(set)), set)
	}
	return appendUvarints(out, h.tagSet)
}

func appendUvarints(out []byte, list []uint32) []byte {
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

// DocsAt returns the documents at a position of a group.
func (h *segmentHeader) DocsAt(group, position int64) (docs []uint32) {
	order := h.groupOrder()
	i, _ := slices.BinarySearchFunc(order, group, func(x uint32, group int64) int {
		return cmp.Or(cmp.Compare(h.groups[x], group), cmp.Compare(h.positions[x], position))
	})
	for ; i < len(order) && h.groups[order[i]] == group && h.positions[order[i]] == position; i++ {
		docs = append(docs, h.groupedDocs[order[i]])
	}
	return docs
}

// sortGroups returns the indexes into groupedDocs, sorted by group, position and ordinal.
func (h *segmentHeader) sortGroups() []uint32 {
	order := make([]uint32, len(h.groupedDocs))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(h.groups[a], h.groups[b]), cmp.Compare(h.positions[a], h.positions[b]),
			cmp.Compare(a, b))
	})
	return order
}
