package scope

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

// Changes reports whether the record itself changes, and not its status alone.
func (p Purpose) Changes() bool { return p == ToChange || p == ToContinue }

// CheckIfMatch compares the entity tag of a record with the If-Match of the call.
func (s *Scope) CheckIfMatch(tag string) error {
	if s.Actor.IfMatch == "" {
		return nil
	}
	for wanted := range strings.SplitSeq(s.Actor.IfMatch, ",") {
		if wanted = strings.TrimSpace(wanted); wanted == tag || wanted == "*" {
			return nil
		}
	}
	return loci.NewError(loci.CodeVersionConflict)
}

// Archival returns what an atlas or a workspace that the actor archives or restores says of it.
func (t *Scope) Archival(archived bool) (a loci.Archival) {
	if archived {
		a.ArchivedAt, a.ArchivedBy = t.Conn.Now, t.Actor.UserID
	}
	return a
}

// ArchivingMove names the move of an atlas or a workspace that is archived or restored.
func ArchivingMove(archived bool) string {
	if archived {
		return "archived"
	}
	return "restored"
}
