package message_test

import (
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// Senders without a pause leave changes of their workspace through: on PostgreSQL each holds a lock that a change waits
// for.
func TestSendersDoNotStarveChangesOfTheirWorkspace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		st := d.Open(t, store.Options{})
		s := service.New(service.Options{Store: st, Clock: (&Clock{}).Now})
		ann := storetest.User(t, st, "ann")
		members := map[*identity.Actor]loci.Role{}
		var agents []*identity.Actor
		for _, name := range []string{"bob", "cid", "dan", "eve"} {
			who := storetest.User(t, st, name)
			members[who] = loci.RoleMember
			agents = append(agents, storetest.Agents(t, st, who, 8)...)
		}
		crew := storetest.Team(t, st, ann, members)
		end := make(chan struct{})
		var senders sync.WaitGroup
		for _, from := range agents[:12] {
			senders.Go(func() {
				for {
					select {
					case <-end:
						return
					default:
					}
					_, err := s.SendMessage(t.Context(), from, loci.SendMessage{WorkspaceID: crew, Broadcast: true,
						Content: "to all"})
					if err != nil && !loci.Is(err, loci.CodeNotFound) { // that of a member that has left
						t.Error(err)
						return
					}
				}
			})
		}
		defer senders.Wait()
		defer close(end)
		name := loci.Name("Renamed")
		testenv.Must(s.UpdateWorkspace(t.Context(), ann, loci.UpdateWorkspace{WorkspaceID: crew, Name: &name}))(t)
		for who := range members {
			testenv.Must(s.LeaveWorkspace(t.Context(), who, loci.LeaveWorkspace{WorkspaceID: crew}))(t)
		}
	})
}
