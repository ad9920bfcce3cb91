package loci

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/uuid"
)

// An ID is the id of a record. An ill-formed one in an input, the empty one too, names no record: it is not found.
type ID string

// An OptionalID is the id of a record, or null for none where an absent one has another meaning. An empty one is null.
type OptionalID string

// Rule allows null.
func (OptionalID) Rule() Rule { return Rule{Null: true} }

// NewID returns a new UUIDv7 in lower case, greater than any before it in this process. now gives its time.
func NewID(now time.Time) ID { return ID(uuid.New(now)) }

// AgentIDPrefix begins the id of an agent.
const AgentIDPrefix = "agt_"

// NewAgentID returns a new id of an agent: the prefix and a UUIDv7 without dashes.
func NewAgentID(now time.Time) ID {
	return ID(AgentIDPrefix + strings.ReplaceAll(uuid.New(now), "-", ""))
}

// Valid reports whether the id has the form of a Loci id: a lower case UUIDv7, or that of an agent.
func (id ID) Valid() bool {
	if hex, ok := strings.CutPrefix(string(id), AgentIDPrefix); ok && len(hex) == 32 {
		return uuid.Valid(hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:])
	}
	return uuid.Valid(string(id))
}
