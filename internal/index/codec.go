package index

import (
	"encoding/binary"
	"errors"

	"github.com/loci-memory/loci/internal/analysis"
)

// ErrCorrupt is the error of stored bytes that this package did not write.
var ErrCorrupt = errors.New("index: corrupt bytes")

// decoder reads stored bytes. After a failure it returns zeros and keeps failed set. So callers check for errors once
// at the end of each part.
type decoder struct {
	data   []byte
	failed bool
}

func (d *decoder) fail() {
	d.failed, d.data = true, nil
}

func (d *decoder) byte() byte {
	if len(d.data) == 0 {
		d.fail()
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b
}

func (d *decoder) uvarint() uint64 {
	if len(d.data) > 0 && d.data[0] < 0x80 {
		v := uint64(d.data[0])
		d.data = d.data[1:]
		return v
	}
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

// uvarintAt returns the uvarint at a position and the position behind it, which is beyond the bytes if there is none.
func uvarintAt(data []byte, at int) (v uint64, next int) {
	if at < len(data) && data[at] < 0x80 {
		return uint64(data[at]), at + 1
	}
	return longUvarintAt(data, at)
}

func longUvarintAt(data []byte, at int) (v uint64, next int) {
	if v, n := binary.Uvarint(data[min(at, len(data)):]); n > 0 {
		return v, at + n
	}
	return 0, len(data) + 1
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads the number of items that take at least size bytes each. So a corrupt count cannot allocate more memory
// than the input justifies.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.data)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > len(d.data) {
		d.fail()
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

// frontCoded reads a front-coded string: the length of the prefix that it shares with the one before, and its suffix.
func (d *decoder) frontCoded(last []byte) []byte {
	shared, n := d.uvarint(), d.uvarint()
	rest := d.data
	if shared > uint64(len(last)) || n > uint64(len(rest)) || shared+n > analysis.MaxTermBytes {
		d.fail()
		return last[:0]
	}
	d.data = rest[n:]
	return append(last[:shared], rest[:n]...)
}

func (d *decoder) version() {
	if d.byte() != FormatVersion {
		d.fail()
	}
}

// end returns an error if a read failed or bytes are left.
func (d *decoder) end() error {
	if d.failed || len(d.data) > 0 {
		return ErrCorrupt
	}
	return nil
}

// appendFrontCoded appends the form that decoder.frontCoded reads.
func appendFrontCoded(out []byte, last, text string) []byte {
	shared := commonPrefixLen(last, text)
	out = binary.AppendUvarint(out, uint64(shared))
	out = binary.AppendUvarint(out, uint64(len(text)-shared))
	return append(out, text[shared:]...)
}

// commonPrefixLen returns the length of the common prefix of two terms in bytes.
func commonPrefixLen[T string | []byte](a, b T) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
