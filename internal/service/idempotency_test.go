package service_test

import (
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestRepeatedCallReturnsStoredResponse(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		in := loci.CreateMemory{Content: "the tide", AtlasID: w.Atlas(t, "Shelf")}
		first, replayed, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryCreate, in)
		if err != nil || replayed {
			t.Fatal(replayed, err)
		}
		for range 2 {
			second, replayed, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryCreate, in)
			if err != nil || !replayed || second.Memory.ID != first.Memory.ID ||
				second.Memory.CreatedAt != first.Memory.CreatedAt || second.Memory.DuplicateOf != "" {
				t.Errorf("%v %v %+v", replayed, err, second)
			}
		}
		if other, replayed, err := CallWithKey(t, w, CallerOwner, "b", service.MemoryCreate, in); err != nil ||
			replayed || other.Memory.ID == first.Memory.ID {
			t.Errorf("another key: %v %v", replayed, err)
		}
		if other, replayed, err := CallWithKey(t, w, CallerAdmin, "a", service.MemoryCreate, in); err != nil ||
			replayed || other.Memory.ID == first.Memory.ID {
			t.Errorf("another credential: %v %v", replayed, err)
		}
		in.Content = "the tides"
		if _, _, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryCreate, in); !loci.Is(err,
			loci.CodeIdempotencyConflict) {
			t.Errorf("another body: %v", err)
		}
		if _, _, err := CallWithKey(t, w, CallerOwner, "a", service.WorkspaceCreate,
			loci.CreateWorkspace{Name: "x"}); !loci.Is(err, loci.CodeIdempotencyConflict) {
			t.Errorf("another operation: %v", err)
		}
		w.Clock.Advance(24*time.Hour + time.Second)
		if later, replayed, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryCreate, in); err != nil ||
			replayed || later.Memory.ID == first.Memory.ID {
			t.Errorf("a day later: %v %v", replayed, err)
		}
	})
}

func TestFailureIsNotReplayed(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	in := loci.CreateMemory{Content: "x", AtlasID: loci.NewID(time.Now())}
	if _, _, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryCreate, in); !loci.Is(err, loci.CodeNotFound) {
		t.Fatal(err)
	}
	in.AtlasID = w.Atlas(t, "Shelf")
	if _, replayed, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryCreate, in); err != nil || replayed {
		t.Error(replayed, err)
	}
}

func TestParallelRepeatedCallsCreateOnce(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		in := loci.CreateMemory{Content: "the tide", AtlasID: w.Atlas(t, "Shelf")}
		ids := make([]string, 12)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				out, _, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryCreate, in)
				if err != nil {
					t.Error(err)
				}
				ids[i] = string(out.Memory.ID)
			})
		}
		all.Wait()
		for _, id := range ids {
			testenv.Equal(t, id, ids[0])
		}
		testenv.Len(t, MustCall(t, w, CallerOwner, service.MemoryList,
			loci.ListMemories{MemoryFilter: loci.MemoryFilter{AtlasID: in.AtlasID}}).Memories, 1, "memories")
	})
}

// A stored response has the stored status, too.
func TestStoredResponseOfDuplicateReportsNoCreation(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	in := loci.CreateMemory{Content: "the tide", AtlasID: w.Atlas(t, "Shelf"),
		OnDuplicate: loci.OnDuplicateReturn}
	for i, want := range []bool{true, false, false} {
		actor := w.Ann.Actor()
		if i > 0 {
			actor.Idempotency = &identity.Idempotency{Key: "a"}
		}
		out, err := w.Service.CreateMemory(t.Context(), actor, in)
		if err != nil || out.Created() != want || i > 0 && actor.Idempotency.Replayed != (i == 2) {
			t.Errorf("call %d: created %v, %v", i, out.Created(), err)
		}
	}
}

// A replayed search keeps the texts that it found.
func TestReplayedSearchHidesDeletedMemories(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		mine := w.Memory(t, w.Atlas(t, "Shelf"), "the tide at noon")
		in := loci.SearchMemories{Query: "tide", Mode: loci.ModeKeyword}
		find := func(actor Caller, replayed bool, want int) {
			t.Helper()
			out, again, err := CallWithKey(t, w, actor, "a", service.MemorySearch, in)
			if err != nil || again != replayed || len(out.Memories) != want {
				t.Errorf("found %d, replayed %v, %v", len(out.Memories), again, err)
			}
		}
		for _, replayed := range []bool{false, true} {
			find(CallerOwner, replayed, 1)
		}
		MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: mine})
		for _, replayed := range []bool{false, true} { // the first response was deleted with its memory
			find(CallerOwner, replayed, 0)
		}
	})
}

func TestStoredResponseHidesRevokedKey(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	for by, revoke := range map[string]func(loci.ID){
		"user": func(id loci.ID) {
			MustCall(t, w, CallerOwner, service.KeyRevoke, loci.RevokeKey{KeyID: id})
		},
		"operator": func(id loci.ID) { testenv.Must(w.Service.RevokeUserKey(t.Context(), id))(t) },
	} {
		in := loci.CreateKey{Name: "laptop"}
		made, _, err := CallWithKey(t, w, CallerOwner, by, service.KeyCreate, in)
		if err != nil {
			t.Fatal(err)
		}
		revoke(made.Key.ID)
		if other, replayed, err := CallWithKey(t, w, CallerOwner, by, service.KeyCreate, in); err != nil || replayed ||
			other.APIKey == made.APIKey {
			t.Errorf("revoked by the %s: replayed %v: %v", by, replayed, err)
		}
	}
}

func TestEveryPostAcceptsIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	id := w.Invite(t, w.NewTeam(t, w.Fay), w.Fay, w.Ann, loci.RoleMember)
	w.Memory(t, w.Atlas(t, "Shelf"), "the tide")
	callTwice(t, w, service.AtlasCreate, loci.CreateAtlas{Name: "One", WorkspaceID: w.Team})
	callTwice(t, w, service.WorkspaceCreate, loci.CreateWorkspace{Name: "One"})
	callTwice(t, w, service.InvitationCreate, loci.CreateInvitations{WorkspaceID: w.Team,
		Emails: loci.Emails{"new@example.com"}})
	callTwice(t, w, service.InvitationRespond, loci.RespondInvitation{InvitationID: id, Accept: true,
		Confirm: true})
	callTwice(t, w, service.KeyCreate, loci.CreateKey{Name: "One"})
	callTwice(t, w, service.MemorySearch, loci.SearchMemories{Query: "tide"})
}

func callTwice[In, Out any](t *testing.T, w *World, o op.TypedOp[In, Out], in In) {
	t.Helper()
	for i := range 2 {
		if _, replayed, err := CallWithKey(t, w, CallerOwner, o.Name, o, in); err != nil || replayed != (i == 1) {
			t.Errorf("%s, call %d: replayed %v, %v", o.Name, i, replayed, err)
		}
	}
}
