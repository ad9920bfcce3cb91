package index

import (
	"math"
	"slices"
	"sync"
	"unique"
)

// decodeSegmentHeader decodes a segment header. It returns ErrCorrupt for other bytes.
func decodeSegmentHeader(header []byte) (*segmentHeader, error) {
	d := decoder{data: header}
	d.version()
	docs := d.count(7) // a document takes at least seven bytes and a bit
	col := &segmentHeader{termCount: int(d.uvarint() & math.MaxInt32)}
	col.readIDsAndTimes(&d, docs)
	for range d.count(1) {
		col.atlases = append(col.atlases, d.varint())
	}
	col.atlas = d.uvarintsBelow(docs, len(col.atlases))
	col.memoryType, col.typeMask = d.filterColumn(docs)
	col.status, col.statusMask = d.filterColumn(docs)
	col.verified = unpackBits(d.bytes((docs+7)/8), docs)
	d.sparseColumn(2, docs, func(doc uint32) {
		col.expiringDocs, col.expiry = append(col.expiringDocs, doc), append(col.expiry, d.varint())
	})
	col.readTags(&d, docs)
	col.lengths = d.uvarintsBelow(docs, maxDocLength+1)
	col.lengthCodes = make([]uint8, len(col.lengths))
	for i, n := range col.lengths {
		col.lengthCodes[i] = EncodeLength(n)
	}
	col.readPages(&d)
	if len(d.data) > 0 {
		d.sparseColumn(3, docs, func(doc uint32) {
			col.groupedDocs = append(col.groupedDocs, doc)
			col.groups, col.positions = append(col.groups, d.varint()), append(col.positions, d.varint())
		})
	}
	col.groupOrder = sync.OnceValue(col.sortGroups)
	if err := d.end(); err != nil {
		return nil, err
	}
	col.bytes = col.size()
	return col, nil
}

func (h *segmentHeader) readIDsAndTimes(r *decoder, docs int) {
	h.memories, h.created = make([]int64, docs), make([]int64, docs)
	for i := range docs {
		if i == 0 {
			h.memories[i] = r.varint()
			continue
		}
		h.memories[i] = h.memories[i-1] + int64(r.uvarint()) + 1
		if h.memories[i] <= h.memories[i-1] {
			r.fail()
			return
		}
	}
	last := int64(0)
	for i := range docs {
		last += r.varint()
		h.created[i] = last
	}
	if docs > 0 {
		h.firstCreated, h.lastCreated = slices.Min(h.created), slices.Max(h.created)
	}
}

// filterColumn reads a column of n types or statuses, and returns the bit set of its values too.
func (d *decoder) filterColumn(n int) (column []uint8, present uint64) {
	column = slices.Clone(d.bytes(n))
	for _, v := range column {
		if v > maxFilterBit {
			d.fail()
		}
		present |= 1 << v
	}
	return column, present
}

// uvarintsBelow reads n numbers, each below limit.
func (d *decoder) uvarintsBelow(n, limit int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		v := d.uvarint()
		if v >= uint64(limit) {
			d.fail()
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
func (d *decoder) sparseColumn(size, docs int, read func(doc uint32)) {
	doc := uint64(0)
	for i := range d.count(size) {
		gap := d.uvarint()
		if doc += gap; gap >= uint64(docs) || doc >= uint64(docs) || i > 0 && gap == 0 {
			d.fail()
			return
		}
		read(uint32(doc))
	}
}

func (h *segmentHeader) readTags(r *decoder, docs int) {
	for range r.count(1) {
		h.tags = append(h.tags, unique.Make(string(r.bytes(r.count(1)))))
	}
	for range r.count(1) {
		h.tagSets = append(h.tagSets, r.uvarintsBelow(r.count(1), len(h.tags)))
	}
	h.tagSet = r.uvarintsBelow(docs, len(h.tagSets))
}

func (h *segmentHeader) readPages(r *decoder) {
	var last []byte
	for range r.count(2) {
		before := string(last)
		if last = r.frontCoded(last); string(last) < before {
			r.fail()
		}
		h.pageFirstTerms = append(h.pageFirstTerms, string(last))
	}
}
