package loci

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// idGenerator makes UUIDv7 (RFC 9562, section 5.7). The 12 bits of rand_a and
// the top 14 of rand_b count within a millisecond (method 1 of section 6.2). So
// the ids of one process always rise, also when the clock stops or steps back.
var idGenerator struct {
	sync.Mutex
	millis  int64
	counter uint32 // 26 bits
	pool    [512]byte
	unused  int
}

// NewID returns a new UUIDv7 in lower case, greater than any before it in this process. now gives its time.
func NewID(now time.Time) ID {
	idGenerator.Lock()
	defer idGenerator.Unlock()
	if idGenerator.unused < 12 {
		rand.Read(idGenerator.pool[:]) // never fails (crypto/rand)
		idGenerator.unused = len(idGenerator.pool)
	}
	random := idGenerator.pool[idGenerator.unused-12 : idGenerator.unused]
	idGenerator.unused -= 12
	if ms := now.UnixMilli(); ms > idGenerator.millis {
		// The counter starts in the lower half, so that it can rise.
		idGenerator.millis, idGenerator.counter = ms, binary.BigEndian.Uint32(random)>>7
	} else if idGenerator.counter++; idGenerator.counter >= 1<<26 {
		idGenerator.millis, idGenerator.counter = idGenerator.millis+1, 0
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(idGenerator.millis)<<16|0x7000|uint64(idGenerator.counter>>14))
	binary.BigEndian.PutUint16(b[8:], 0x8000|uint16(idGenerator.counter&0x3fff))
	copy(b[10:], random[4:10])
	return formatUUID(b)
}

// AgentIDPrefix begins the id of an agent.
const AgentIDPrefix = "agt_"

// NewAgentID returns a new id of an agent: the prefix and a UUIDv7 without dashes.
func NewAgentID(now time.Time) ID {
	return ID(AgentIDPrefix + strings.ReplaceAll(string(NewID(now)), "-", ""))
}

func formatUUID(b [16]byte) ID {
	var s [36]byte
	hex.Encode(s[:8], b[:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return ID(s[:])
}

// An ID is the id of a record. An ill-formed one in an input, the empty one too, names no record: it is not found.
type ID string

// An OptionalID is the id of a record, or null for none where an absent one has another meaning. An empty one is null.
type OptionalID string

// Rule allows null.
func (OptionalID) Rule() Rule { return Rule{Null: true} }

// Valid reports whether the id has the form of a Loci id: a lower case UUIDv7, or that of an agent.
func (id ID) Valid() bool {
	if hex, ok := strings.CutPrefix(string(id), AgentIDPrefix); ok && len(hex) == 32 {
		return ID(hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:]).isUUID()
	}
	return id.isUUID()
}

func (id ID) isUUID() bool {
	if len(id) != 36 || id[14] != '7' || (id[19] != '8' && id[19] != '9' && id[19] != 'a' && id[19] != 'b') {
		return false
	}
	for i := range len(id) {
		c := id[i]
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
