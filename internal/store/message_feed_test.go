package store_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestServersNotifyEachOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		one, other := d.Open(t, store.Options{}), d.Open(t, store.Options{})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		payloads, ended := make(chan string, 10), make(chan error, 1)
		go func() { ended <- other.Messages().ListenServers(ctx, func(payload string) { payloads <- payload }) }()
		if d.Address != "" {
			for _, want := range []string{"", "first", "'; second --"} { // an empty one begins
				if want != "" {
					if err := one.Messages().NotifyServers(t.Context(), want); err != nil {
						t.Fatal(err)
					}
				}
				select {
				case got := <-payloads:
					if got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				case err := <-ended:
					t.Fatal(err)
				}
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Deliveries of several agents come by their numbers, page by page, and leave out those of workspaces that were left.
func TestDeliveriesAreCompleteForEachAgent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew, old := team(t, s, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember}), team(t, s, ann,
			map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		from, one, two, three := storetest.Agent(t, s, ann), storetest.Agent(t, s, bob), storetest.Agent(t, s, bob),
			storetest.Agent(t, s, ann)
		here, there := mailbox{t, newService(s), crew}, mailbox{t, newService(s), old}
		want := map[loci.ID][]loci.ID{}
		send := func(m mailbox, to ...*identity.Actor) {
			for _, agent := range to {
				if id := m.send(from, agent, "hello"); m.workspace == crew || agent == three {
					want[agent.AgentID] = append(want[agent.AgentID], id)
				}
			}
		}
		for range 4 {
			send(here, one, two)
			send(there, one, three, one)
			send(here, three, one)
		}
		if _, err := newService(s).LeaveWorkspace(ctx, bob, loci.LeaveWorkspace{WorkspaceID: old}); err != nil {
			t.Fatal(err)
		}
		got, after := map[loci.ID][]loci.ID{}, map[loci.ID]int64{one.AgentID: 0, two.AgentID: 0, three.AgentID: 0}
		for {
			var positions []messagedb.Position
			for id, number := range after {
				positions = append(positions, messagedb.Position{AgentID: id, Number: number})
			}
			list, err := s.Messages().Deliveries(ctx, positions, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range list {
				got[x.AgentID] = append(got[x.AgentID], x.MessageID)
				after[x.AgentID] = x.Number
			}
			if len(list) < 5 {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
