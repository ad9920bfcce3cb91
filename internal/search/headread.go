package search

import (
	"math"
	"sync"
	"unique"
)

// decodeColumns reads a head, or gives ErrCorrupt.
func decodeColumns(head []byte) (*columns, error) {
	c := cursor{data: head}
	c.version()
	docs := c.count(7) // a document takes at least seven bytes and a bit
	col := &columns{terms: int(c.uvarint() & math.MaxInt32)}
	col.readTimes(&c, docs)
	for range c.count(1) {
		col.atlases = append(col.atlases, c.varint())
	}
	col.atlas = c.indexes(docs, len(col.atlases))
	col.kind = append(make([]uint8, 0, docs), c.bytes(docs)...)
	col.status = append(make([]uint8, 0, docs), c.bytes(docs)...)
	col.kinds, col.statuses = occurring(col.kind), occurring(col.status)
	col.verified = unpackBits(c.bytes((docs+7)/8), docs)
	col.readExpiry(&c, docs)
	col.readTags(&c, docs)
	col.lengths = c.indexes(docs, maxLength+1)
	col.codes = make([]uint8, len(col.lengths))
	for i, n := range col.lengths {
		col.codes[i] = lengthCode(n)
	}
	col.readPages(&c)
	if len(c.data) > 0 {
		col.readGroups(&c, docs)
	}
	col.kin = sync.OnceValue(col.sortKin)
	if err := c.end(); err != nil {
		return nil, err
	}
	return col, nil
}

func (c *columns) readTimes(r *cursor, docs int) {
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

// indexes reads n numbers below limit.
func (c *cursor) indexes(n, limit int) []uint32 {
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

func (c *columns) readExpiry(r *cursor, docs int) {
	r.some(2, docs, func(doc uint32) {
		c.expiring = append(c.expiring, doc)
		c.expiry = append(c.expiry, r.varint())
	})
}

func (c *columns) readGroups(r *cursor, docs int) {
	r.some(3, docs, func(doc uint32) {
		c.grouped = append(c.grouped, doc)
		c.groups, c.position = append(c.groups, r.varint()), append(c.position, r.varint())
	})
}

// some reads what only some documents have, of at least size bytes each.
func (c *cursor) some(size, docs int, read func(doc uint32)) {
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

func (c *columns) readTags(r *cursor, docs int) {
	for range r.count(1) {
		c.tags = append(c.tags, unique.Make(string(r.bytes(r.count(1)))))
	}
	for range r.count(1) {
		c.tagSets = append(c.tagSets, r.indexes(r.count(1), len(c.tags)))
	}
	c.tagSet = r.indexes(docs, len(c.tagSets))
}

func (c *columns) readPages(r *cursor) {
	var last []byte
	for range r.count(2) {
		before := string(last)
		if last = r.text(last); string(last) < before {
			r.fail()
		}
		c.pages = append(c.pages, string(last))
	}
}
