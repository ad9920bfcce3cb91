package service_test

import (
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
)

// again calls with an Idempotency-Key, and tells whether the answer is a stored one.
func again[In, Out any](t *testing.T, w *proof.World, who proof.Caller, key string, o op.Of[In, Out], in In) (Out, bool, error) {
	c := w.Call(who)
	c.IdempotencyKey = key
	out, err := op.Do(t.Context(), w.Host, c, o, in)
	return out, c.Replayed, err
}

func TestARepeatedCallIsAnsweredAsTheFirst(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		in := loci.CreateMemory{Content: "the tide", AtlasID: w.Atlas(t, "Shelf")}
		first, replayed, err := again(t, w, proof.Owner, "a", service.MemoryCreate, in)
		if err != nil || replayed {
			t.Fatal(replayed, err)
		}
		for range 2 {
			second, replayed, err := again(t, w, proof.Owner, "a", service.MemoryCreate, in)
			if err != nil || !replayed || second.Memory.ID != first.Memory.ID || second.Memory.CreatedAt != first.Memory.CreatedAt || second.Memory.DuplicateOf != "" {
				t.Errorf("%v %v %+v", replayed, err, second)
			}
		}
		if other, replayed, err := again(t, w, proof.Owner, "b", service.MemoryCreate, in); err != nil || replayed || other.Memory.ID == first.Memory.ID {
			t.Errorf("another key: %v %v", replayed, err)
		}
		if other, replayed, err := again(t, w, proof.Admin, "a", service.MemoryCreate, in); err != nil || replayed || other.Memory.ID == first.Memory.ID {
			t.Errorf("another credential: %v %v", replayed, err)
		}
		in.Content = "the tides"
		if _, _, err := again(t, w, proof.Owner, "a", service.MemoryCreate, in); !loci.Is(err, loci.IdempotencyConflict) {
			t.Errorf("another body: %v", err)
		}
		if _, _, err := again(t, w, proof.Owner, "a", service.WorkspaceCreate, loci.CreateWorkspace{Name: "x"}); !loci.Is(err, loci.IdempotencyConflict) {
			t.Errorf("another operation: %v", err)
		}
		w.Clock.Pass(24*time.Hour + time.Second)
		if later, replayed, err := again(t, w, proof.Owner, "a", service.MemoryCreate, in); err != nil || replayed || later.Memory.ID == first.Memory.ID {
			t.Errorf("a day later: %v %v", replayed, err)
		}
	})
}

func TestAFailureIsNotKept(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	in := loci.CreateMemory{Content: "x", AtlasID: loci.NewID(time.Now())}
	if _, _, err := again(t, w, proof.Owner, "a", service.MemoryCreate, in); !loci.Is(err, loci.NotFound) {
		t.Fatal(err)
	}
	in.AtlasID = w.Atlas(t, "Shelf")
	if _, replayed, err := again(t, w, proof.Owner, "a", service.MemoryCreate, in); err != nil || replayed {
		t.Error(replayed, err)
	}
}

func TestManyWhoRepeatAtOnceMakeOneThing(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		in := loci.CreateMemory{Content: "the tide", AtlasID: w.Atlas(t, "Shelf")}
		ids := make([]string, 12)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				out, _, err := again(t, w, proof.Owner, "a", service.MemoryCreate, in)
				if err != nil {
					t.Error(err)
				}
				ids[i] = out.Memory.ID
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("%s and %s", id, ids[0])
			}
		}
		if n := len(do(t, w, proof.Owner, service.MemoryList, loci.ListMemories{AtlasID: in.AtlasID}).Memories); n != 1 {
			t.Errorf("%d memories", n)
		}
	})
}

// Whether something was made is told again, too: a replay has the stored status.
func TestAReplayOfADuplicateIsNoCreation(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	in := loci.CreateMemory{Content: "the tide", AtlasID: w.Atlas(t, "Shelf"), OnDuplicate: loci.OnDuplicateReturn}
	for i, want := range []bool{true, false, false} {
		who := w.Ann.Actor()
		if i > 0 {
			who.Once = &loci.Once{Key: "a"}
		}
		out, err := w.Service.CreateMemory(t.Context(), who, in)
		if err != nil || out.Created() != want || i > 0 && who.Once.Replayed != (i == 2) {
			t.Errorf("call %d: created %v, %v", i, out.Created(), err)
		}
	}
}

// A search is kept with the texts that it found.
func TestARepeatedSearchShowsNothingThatIsGone(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		mine := w.Memory(t, w.Atlas(t, "Shelf"), "the tide at noon")
		in := loci.SearchMemories{Query: "tide", Mode: loci.ModeKeyword}
		find := func(who proof.Caller, replayed bool, want int) {
			t.Helper()
			out, again, err := again(t, w, who, "a", service.MemorySearch, in)
			if err != nil || again != replayed || len(out.Memories) != want {
				t.Errorf("found %d, replayed %v, %v", len(out.Memories), again, err)
			}
		}
		for _, replayed := range []bool{false, true} {
			find(proof.Owner, replayed, 1)
		}
		do(t, w, proof.Owner, service.MemoryDelete, loci.DeleteMemory{MemoryID: mine})
		find(proof.Owner, false, 0)
	})
}

func TestARevokedKeyIsNotShownAgain(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	in := loci.CreateKey{Name: "laptop"}
	made, _, err := again(t, w, proof.Owner, "a", service.KeyCreate, in)
	if err != nil {
		t.Fatal(err)
	}
	do(t, w, proof.Owner, service.KeyRevoke, loci.RevokeKey{KeyID: made.Key.ID})
	if other, replayed, err := again(t, w, proof.Owner, "a", service.KeyCreate, in); err != nil || replayed || other.APIKey == made.APIKey {
		t.Errorf("replayed %v: %v", replayed, err)
	}
}

func TestEveryPostCanBeRepeated(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	id := w.Invite(t, w.Team(t, w.Fay), w.Fay, w.Ann, loci.Member)
	w.Memory(t, w.Atlas(t, "Shelf"), "the tide")
	repeat(t, w, service.AtlasCreate, loci.CreateAtlas{Name: "One", WorkspaceID: w.Crew})
	repeat(t, w, service.WorkspaceCreate, loci.CreateWorkspace{Name: "One"})
	repeat(t, w, service.InvitationCreate, loci.CreateInvitations{WorkspaceID: w.Crew, Emails: loci.Emails{"new@example.com"}})
	repeat(t, w, service.InvitationRespond, loci.RespondInvitation{InvitationID: id, Accept: true, Confirm: true})
	repeat(t, w, service.KeyCreate, loci.CreateKey{Name: "One"})
	repeat(t, w, service.MemorySearch, loci.SearchMemories{Query: "tide"})
}

func repeat[In, Out any](t *testing.T, w *proof.World, o op.Of[In, Out], in In) {
	t.Helper()
	for i := range 2 {
		if _, replayed, err := again(t, w, proof.Owner, o.Name, o, in); err != nil || replayed != (i == 1) {
			t.Errorf("%s, call %d: replayed %v, %v", o.Name, i, replayed, err)
		}
	}
}
