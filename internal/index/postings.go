package index

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// A page holds blocks of postings, sorted by term, then by document:
//
//	version   1 byte
//	blocks    one after the other
//	restarts  2 bytes each, little endian: offsets of every 16th block
//	count     2 bytes, little endian: number of restarts
//
// A block:
//
//	term      front coded against the block before (uvarint shared, uvarint
//	          rest, bytes); at a restart nothing is shared
//	postings  uvarint: number of postings times two, plus one if every
//	          frequency is 1
//	first     uvarint: ordinal of the first document
//	gaps      absent for a single posting: uvarint number of bytes, then for each
//	          further posting a uvarint, ordinal minus the one before minus 1
//	freqs     one byte a posting; absent if all are 1
//
// A frequent term has several blocks, which may lie on several pages. A look-up decodes some restartInterval block
// headers of one or two pages in vain. The sizes bound that, and were not measured.
const (
	maxBlockPostings = 512
	pageBytes        = 8 << 10
	restartInterval  = 16
)

// posting is the ordinal of a document in its segment and the frequency of the term there.
type posting struct {
	doc  uint32
	freq uint8
}

// postingsWriter encodes postings as pages. add requires ascending terms.
type postingsWriter struct {
	pages      [][]byte
	firstTerms []string // first term of each page
	terms      int
	page       []byte
	restarts   []uint16
	blocks     int
	lastTerm   string
	gaps       []byte
}

func (p *postingsWriter) add(term string, list []posting) {
	p.terms++
	for len(list) > 0 {
		n := min(len(list), maxBlockPostings)
		p.writeBlock(term, list[:n])
		list = list[n:]
	}
}

func (p *postingsWriter) writeBlock(term string, list []posting) {
	if len(p.page) == 0 {
		p.page = append(make([]byte, 0, pageBytes+4096), FormatVersion)
		p.firstTerms = append(p.firstTerms, term)
	}
	if p.blocks%restartInterval == 0 {
		p.restarts = append(p.restarts, uint16(len(p.page)))
		p.lastTerm = ""
	}
	p.page = appendFrontCoded(p.page, p.lastTerm, term)
	p.encodePostings(list)
	p.lastTerm = term
	p.blocks++
	if len(p.page) >= pageBytes {
		p.flush()
	}
}

func (p *postingsWriter) encodePostings(list []posting) {
	ones := uint64(1)
	p.gaps = p.gaps[:0]
	for i, x := range list {
		if x.freq != 1 {
			ones = 0
		}
		if i > 0 {
			p.gaps = binary.AppendUvarint(p.gaps, uint64(x.doc-list[i-1].doc-1))
		}
	}
	p.page = binary.AppendUvarint(p.page, uint64(len(list))<<1|ones)
	p.page = binary.AppendUvarint(p.page, uint64(list[0].doc))
	if len(list) > 1 {
		p.page = binary.AppendUvarint(p.page, uint64(len(p.gaps)))
		p.page = append(p.page, p.gaps...)
	}
	if ones == 1 {
		return
	}
	for _, x := range list {
		p.page = append(p.page, x.freq)
	}
}

func (p *postingsWriter) flush() {
	if len(p.page) == 0 {
		return
	}
	for _, at := range p.restarts {
		p.page = binary.LittleEndian.AppendUint16(p.page, at)
	}
	p.page = binary.LittleEndian.AppendUint16(p.page, uint16(len(p.restarts)))
	p.pages = append(p.pages, p.page)
	p.page, p.restarts, p.blocks, p.lastTerm = nil, p.restarts[:0], 0, ""
}

// postingsBlock is a decoded block header. gaps and freqs alias the page.
type postingsBlock struct {
	term  []byte
	count int
	first uint64
	gaps  []byte
	freqs []byte // nil if all are 1
}

// readHeader reads the header of the next block. b.term must be the term of the block before.
func (b *postingsBlock) readHeader(d *decoder) {
	b.term = d.frontCoded(b.term)
	n := d.uvarint()
	b.count = int(n >> 1)
	if b.count == 0 || n>>1 > maxBlockPostings {
		d.fail()
		b.count = 0
		return
	}
	b.first = d.uvarint()
	b.gaps, b.freqs = nil, nil
	if b.count > 1 {
		b.gaps = d.bytes(d.count(1))
	}
	if n&1 == 0 {
		b.freqs = d.bytes(b.count)
	}
}

// decode appends the ordinals of the block, each plus base, and the frequencies. docs is the number of documents in the
// segment.
func (b *postingsBlock) decode(d *decodedPostings, base uint32, docs int) error {
	n := len(d.docs)
	d.docs = slices.Grow(d.docs, b.count)[:n+b.count]
	list, gaps, at := d.docs[n:], b.gaps, 0
	doc := b.first
	for i := range list {
		if i > 0 {
			if at >= len(gaps) {
				return ErrCorrupt
			}
			gap := uint64(gaps[at])
			if at++; gap >= 0x80 {
				v, n := binary.Uvarint(gaps[at-1:])
				if n <= 0 || v > math.MaxUint32 {
					return ErrCorrupt
				}
				gap, at = v, at+n-1
			}
			doc += gap + 1
		}
		list[i] = base + uint32(doc)
	}
	if doc >= uint64(docs) || b.first > doc || at != len(gaps) {
		return ErrCorrupt
	}
	if b.freqs != nil {
		d.freqs = append(d.freqs, b.freqs...)
	} else {
		d.freqs = append(d.freqs, unitFreqs[:b.count]...)
	}
	return nil
}

var unitFreqs = [maxBlockPostings]uint8(bytes.Repeat([]byte{1}, maxBlockPostings))

// decodedPostings are postings as two parallel lists of ordinals and frequencies.
type decodedPostings struct {
	docs  []uint32
	freqs []uint8
}

func (d *decodedPostings) reset() { d.docs, d.freqs = d.docs[:0], d.freqs[:0] }

// openPage checks the frame of a page, and returns its blocks and its restarts. The first block is a restart.
func openPage(page []byte) (blocks, restarts []byte, err error) {
	if len(page) < 3 || page[0] != FormatVersion {
		return nil, nil, ErrCorrupt
	}
	n := 2 * int(binary.LittleEndian.Uint16(page[len(page)-2:]))
	end := len(page) - 2 - n
	if n == 0 || end < 1 || binary.LittleEndian.Uint16(page[end:]) != 1 {
		return nil, nil, ErrCorrupt
	}
	return page[:end], page[end : len(page)-2], nil
}

// seekBlock returns a decoder at the first block whose term is not less than the given one, and the length of the
// prefix that both terms and the one before have in common. After the last block the decoder is empty.
func seekBlock(page []byte, term string) (d decoder, shared int, err error) {
	blocks, restarts, err := openPage(page)
	if err != nil {
		return d, 0, err
	}
	// The last restart whose term is less precedes the block.
	lo, hi := 0, len(restarts)/2
	for lo < hi {
		mid := (lo + hi) / 2
		at := restartAt(blocks, restarts, mid)
		n, from := uvarintAt(blocks, at+1)
		if at == len(blocks) || blocks[at] != 0 || n > uint64(len(blocks)) || from+int(n) > len(blocks) {
			return d, 0, ErrCorrupt
		}
		if string(blocks[from:from+int(n)]) < term {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	d.data, shared = skipBlocks(blocks[restartAt(blocks, restarts, max(lo-1, 0)):], term)
	return d, shared, nil
}

func restartAt(blocks, restarts []byte, i int) int {
	return min(int(binary.LittleEndian.Uint16(restarts[2*i:])), len(blocks))
}

// skipBlocks skips the blocks whose terms are less than a term. The first one is a restart. It decodes no term: front
// coding says how far a term agrees with the one before. At corrupt bytes it returns these, which no decoder accepts.
func skipBlocks(data []byte, term string) (rest []byte, shared int) {
	agreed := 0 // length of the common prefix of term and the one before
	for at := 0; at < len(data); {
		rest = data[at:]
		kept, from := uvarintAt(data, at)
		length, from := uvarintAt(data, from)
		if length > uint64(len(data)) || from+int(length) > len(data) {
			return rest, 0
		}
		if at = from + int(length); kept <= uint64(agreed) { // else it is less for the same reason as the one before
			text := data[from:at]
			if kept < uint64(agreed) || string(text) >= term[agreed:] {
				return rest, int(kept)
			}
			for i := 0; i < len(text) && text[i] == term[agreed]; i++ {
				agreed++
			}
		}
		count, next := uvarintAt(data, at)
		_, next = uvarintAt(data, next)
		size := uint64(0)
		if count > 3 {
			size, next = uvarintAt(data, next)
		}
		if count&1 == 0 {
			size += count >> 1
		}
		if size > uint64(len(data)) || next+int(size) > len(data) {
			return rest, 0
		}
		at = next + int(size)
	}
	return nil, 0
}
