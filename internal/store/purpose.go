package store

import (
	"strings"

	"github.com/loci-memory/loci"
)

// A Purpose is the use of a handle. The opening decides by it, by the role, and of a memory by the call's If-Match,
// whether the record takes the use: no write can forget it.
type Purpose int

// The purposes.
const (
	ToChange   Purpose = iota // an active record in active containers; a session may have ended
	ToContinue                // as ToChange, and a session has not ended
	ToMove                    // to another status, in active containers
	ToReview                  // a memory, in any status and container
	InAnyState                // a deletion, or a use with conditions of its own
)

// changes reports whether the record itself changes, and not its status alone.
func (p Purpose) changes() bool { return p == ToChange || p == ToContinue }

// checkIfMatch compares the entity tag of a record with the If-Match of the call.
func (t *Tx) checkIfMatch(tag string) error {
	if t.actor.IfMatch == "" {
		return nil
	}
	for wanted := range strings.SplitSeq(t.actor.IfMatch, ",") {
		if wanted = strings.TrimSpace(wanted); wanted == tag || wanted == "*" {
			return nil
		}
	}
	return loci.NewError(loci.CodeVersionConflict)
}
