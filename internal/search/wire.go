package search

import (
	"encoding/binary"
	"errors"
)

// ErrCorrupt says that stored bytes are not what this package once wrote.
var ErrCorrupt = errors.New("search: corrupt index bytes")

// cursor reads stored bytes. After a failure it yields zeros and keeps bad set,
// so that decoders check once at the end of each part.
type cursor struct {
	data []byte
	bad  bool
}

func (c *cursor) fail() {
	c.bad, c.data = true, nil
}

func (c *cursor) byte() byte {
	if len(c.data) == 0 {
		c.fail()
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return b
}

func (c *cursor) uvarint() uint64 {
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

func (c *cursor) varint() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads a number of things that take at least size bytes each, so that a
// corrupt count can never ask for more memory than the input justifies.
func (c *cursor) count(size int) int {
	n := c.uvarint()
	if n > uint64(len(c.data)/size) {
		c.fail()
		return 0
	}
	return int(n)
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.data) {
		c.fail()
		return nil
	}
	b := c.data[:n]
	c.data = c.data[n:]
	return b
}

// text reads a front-coded string: the length it shares with the one before and
// its own rest.
func (c *cursor) text(last []byte) []byte {
	shared, n := c.uvarint(), c.uvarint()
	rest := c.data
	if shared > uint64(len(last)) || n > uint64(len(rest)) || shared+n > maxTerm {
		c.fail()
		return last[:0]
	}
	c.data = rest[n:]
	return append(last[:shared], rest[:n]...)
}

func (c *cursor) version() {
	if c.byte() != FormatVersion {
		c.fail()
	}
}

func (c *cursor) err() error {
	if c.bad {
		return ErrCorrupt
	}
	return nil
}

// end reports an error when anything failed or is left over.
func (c *cursor) end() error {
	if c.bad || len(c.data) > 0 {
		return ErrCorrupt
	}
	return nil
}

// appendText writes what cursor.text reads.
func appendText(out []byte, last, text string) []byte {
	shared := sharedPrefix(last, text)
	out = binary.AppendUvarint(out, uint64(shared))
	out = binary.AppendUvarint(out, uint64(len(text)-shared))
	return append(out, text[shared:]...)
}

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
