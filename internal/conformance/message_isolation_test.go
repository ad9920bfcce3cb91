package conformance_test

import (
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A stream takes the id of a message from a header too, which is no field of the operation.
func TestStreamsIgnoreForeignLastEventID(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		h := newTestServer(t, conformance.New(t, d.Open, conformance.Options{}))
		s := testScene{h.World, t}
		own, toBob := s.message(), conformance.Must(s.Service.SendMessage(t.Context(), s.agent(s.Ann),
			loci.SendMessage{WorkspaceID: s.Team, ToAgentID: s.agent(s.Bob).AgentID, Content: "x"}))(t).Message.ID
		for _, c := range []struct {
			name   string
			last   loci.ID
			caller *conformance.Person
			unread int
		}{
			{"none", "", h.Ann, 1}, {"unknown", loci.NewID(time.Now()), h.Ann, 1}, {"ill-formed", "x", h.Ann, 1},
			{"of another recipient", toBob, h.Ann, 1}, {"of the sender", own, h.Bob, 1}, {"own", own, h.Ann, 0},
			{"of another tenant", own, h.Eve, 0}, {"unknown to a stranger", loci.NewID(time.Now()), h.Eve, 0},
		} {
			call := &op.Call{Credential: c.caller.Key, ActorHeader: op.ActorAgent, LastEventID: string(c.last)}
			for _, w := range transports[:2] {
				a := w.call(h, service.AgentEvents.Op, call, args{})
				if list, ok := a.object["unread"].([]any); !ok || len(list) != c.unread {
					t.Errorf("%s by %s: unread is %v, want %d messages", c.name, w.name, a.object["unread"], c.unread)
				}
			}
		}
	})
}
