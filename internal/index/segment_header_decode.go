package index

import (
	"math"
	"slices"
	"sync"
	"unique"
)

// decodeSegmentHeader decodes a segment header. It returns ErrCorrupt for other bytes.
func decodeSegmentHeader(header []byte) (*segmentHeader, error) {
	c := decoder{data: header}
	c.version()
	docs := c.count(7) // a document takes at least seven bytes and a bit
	col := &segmentHeader{termCount: int(c.uvarint() & math.MaxInt32)}
	col.readIDsAndTimes(&c, docs)
	for range c.count(1) {
		col.atlases = append(col.atlases, c.varint())
	}
	col.atlas = c.uvarintsBelow(docs, len(col.atlases))
	col.kind, col.kindMask = c.filterColumn(docs)
	col.status, col.statusMask = c.filterColumn(docs)
	col.verified = unpackBits(c.bytes((docs+7)/8), docs)
	c.sparseColumn(2, docs, func(doc uint32) {
		col.expiringDocs, col.expiry = append(col.expiringDocs, doc), append(col.expiry, c.varint())
	})
	col.readTags(&c, docs)
	col.lengths = c.uvarintsBelow(docs, maxDocLength+1)
	col.lengthCodes = make([]uint8, len(col.lengths))
	for i, n := range col.lengths {
		col.lengthCodes[i] = EncodeLength(n)
	}
	col.readPages(&c)
	if len(c.data) > 0 {
		c.sparseColumn(3, docs, func(doc uint32) {
			col.groupedDocs = append(col.groupedDocs, doc)
			col.groups, col.positions = append(col.groups, c.varint()), append(col.positions, c.varint())
		})
	}
	col.groupOrder = sync.OnceValue(col.sortGroups)
	if err := c.end(); err != nil {
		return nil, err
	}
	return col, nil
}

func (c *segmentHeader) readIDsAndTimes(r *decoder, docs int) {
	c.memories, c.created = make([]int64, docs), make([]int64, docs)
	for i := range docs {
		if i == 0 {
			c.memories[i] = r.varint()
			continue
		}
		c.memories[i] = c.memories[i-1] + int64(r.uvarint()) + 1
		if c.memories[i] <= c.memories[i-1] {
			r.fail()
			return
		}
	}
	last := int64(0)
	for i := range docs {
		last += r.varint()
		c.created[i] = last
	}
}

// filterColumn reads a column of n kinds or statuses, and returns the bit set of its values too.
func (c *decoder) filterColumn(n int) (column []uint8, present uint64) {
	column = slices.Clone(c.bytes(n))
	for _, v := range column {
		if v > maxFilterBit {
			c.fail()
		}
		present |= 1 << v
	}
	return column, present
}

// uvarintsBelow reads n numbers, each below limit.
func (c *decoder) uvarintsBelow(n, limit int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		v := c.uvarint()
		if v >= uint64(limit) {
			c.fail()
			return list
		}
		list[i] = uint32(v)
	}
	return list
}

func unpackBits(b []byte, n int) []uint64 {
	words := make([]uint64, (n+63)/64)
	for i, v := range b {
		words[i/8] |= uint64(v) << (i % 8 * 8)
	}
	return words
}

// sparseColumn reads a column that only some documents have. Each value takes at least size bytes.
func (c *decoder) sparseColumn(size, docs int, read func(doc uint32)) {
	doc := uint64(0)
	for i := range c.count(size) {
		gap := c.uvarint()
		if doc += gap; gap >= uint64(docs) || doc >= uint64(docs) || i > 0 && gap == 0 {
			c.fail()
			return
		}
		read(uint32(doc))
	}
}

func (c *segmentHeader) readTags(r *decoder, docs int) {
	for range r.count(1) {
		c.tags = append(c.tags, unique.Make(string(r.bytes(r.count(1)))))
	}
	for range r.count(1) {
		c.tagSets = append(c.tagSets, r.uvarintsBelow(r.count(1), len(c.tags)))
	}
	c.tagSet = r.uvarintsBelow(docs, len(c.tagSets))
}

func (c *segmentHeader) readPages(r *decoder) {
	var last []byte
	for range r.count(2) {
		before := string(last)
		if last = r.frontCoded(last); string(last) < before {
			r.fail()
		}
		c.pageFirstTerms = append(c.pageFirstTerms, string(last))
	}
}
