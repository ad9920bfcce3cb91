// Package uuid makes and recognizes UUIDv7 (RFC 9562, section 5.7).
package uuid

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// generator counts within a millisecond, in the 12 bits of rand_a and the top 14 of rand_b (method 1 of section 6.2).
// So the ids of one process always rise, also when the clock stops or steps back.
var generator struct {
	sync.Mutex
	millis  int64
	counter uint32 // 26 bits
	pool    [512]byte
	unused  int
}

// New returns a new UUIDv7 in lower case, greater than any before it in this process. now gives its time.
func New(now time.Time) string {
	generator.Lock()
	defer generator.Unlock()
	if generator.unused < 12 {
		rand.Read(generator.pool[:]) // never fails (crypto/rand)
		generator.unused = len(generator.pool)
	}
	random := generator.pool[generator.unused-12 : generator.unused]
	generator.unused -= 12
	if ms := now.UnixMilli(); ms > generator.millis {
		// The counter starts in the lower half, so that it can rise.
		generator.millis, generator.counter = ms, binary.BigEndian.Uint32(random)>>7
	} else if generator.counter++; generator.counter >= 1<<26 {
		generator.millis, generator.counter = generator.millis+1, 0
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(generator.millis)<<16|0x7000|uint64(generator.counter>>14))
	binary.BigEndian.PutUint16(b[8:], 0x8000|uint16(generator.counter&0x3fff))
	copy(b[10:], random[4:10])
	return format(b)
}

func format(b [16]byte) string {
	var s [36]byte
	hex.Encode(s[:8], b[:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// Valid reports whether s is a UUIDv7 in lower case.
func Valid(s string) bool {
	if len(s) != 36 || s[14] != '7' || (s[19] != '8' && s[19] != '9' && s[19] != 'a' && s[19] != 'b') {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}
