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

func (c *decoder) fail() {
	c.failed, c.data = true, nil
}

func (c *decoder) byte() byte {
	if len(c.data) == 0 {
		c.fail()
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return b
}

func (c *decoder) uvarint() uint64 {
	if len(c.data) > 0 && c.data[0] < 0x80 {
		v := uint64(c.data[0])
		c.data = c.data[1:]
		return v
	}
	v, n := binary.Uvarint(c.data)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.data = c.data[n:]
	return v
}

func (c *decoder) varint() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads the number of items that take at least size bytes each. So a corrupt count cannot allocate more memory
// than the input justifies.
func (c *decoder) count(size int) int {
	n := c.uvarint()
	if n > uint64(len(c.data)/size) {
		c.fail()
		return 0
	}
	return int(n)
}

func (c *decoder) bytes(n int) []byte {
	if n < 0 || n > len(c.data) {
		c.fail()
		return nil
	}
	b := c.data[:n]
	c.data = c.data[n:]
	return b
}

// frontCoded reads a front-coded string: the length of the prefix that it shares with the one before, and its suffix.
func (c *decoder) frontCoded(last []byte) []byte {
	shared, n := c.uvarint(), c.uvarint()
	rest := c.data
	if shared > uint64(len(last)) || n > uint64(len(rest)) || shared+n > analysis.MaxTermBytes {
		c.fail()
		return last[:0]
	}
	c.data = rest[n:]
	return append(last[:shared], rest[:n]...)
}

func (c *decoder) version() {
	if c.byte() != FormatVersion {
		c.fail()
	}
}

// end returns an error if a read failed or bytes are left.
func (c *decoder) end() error {
	if c.failed || len(c.data) > 0 {
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
