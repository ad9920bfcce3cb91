package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/title"
)

// User adds a user, and returns an actor with the credential of a key.
func User(t testing.TB, s *store.Store, name string) *identity.Actor {
	t.Helper()
	u := testenv.Must(store.System(context.Background(), s, "test", func(x *store.SystemTx) (loci.User, error) {
		return x.AddUser(accountdb.NewUser{Email: loci.Email(name + "@example.com"), Name: name, Verified: true})
	}))(t)
	return &identity.Actor{UserID: u.ID, Email: u.Email, CredentialKind: identity.CredentialKey,
		CredentialID: loci.NewID(s.Now().Std())}
}

// Add adds a memory to a workspace. An empty name is the personal workspace.
func Add(t testing.TB, s *store.Store, actor *identity.Actor, workspace loci.ID, content string,
	change ...func(*loci.Memory)) loci.Memory {
	t.Helper()
	m := testenv.Must(TryAdd(s, actor, workspace, content, change...))(t)
	return m
}

// OnePlan returns the plans of a server on which every user has the same one.
func OnePlan(p identity.Plan) identity.Plans {
	return identity.Plans{Default: p.Name, Limits: map[loci.PlanName]identity.Plan{p.Name: p}}
}

// TryAdd is Add with an error.
func TryAdd(s *store.Store, actor *identity.Actor, workspace loci.ID, content string,
	change ...func(*loci.Memory)) (loci.Memory, error) {
	m := loci.Memory{Title: title.Derive(content), TitleDerived: true, Content: content, Type: loci.TypeNote}
	for _, c := range change {
		c(&m)
	}
	m.TitleDerived = m.Title == title.Derive(m.Content)
	return store.Write(context.Background(), s, actor, func(tx *store.Tx) (loci.Memory, error) {
		targets, err := tx.RoutingTargets(workspace)
		if err != nil {
			return m, err
		}
		a, err := targets.Atlas(-1)
		if err != nil {
			return m, err
		}
		return memorydb.Add(a, m, memorydb.NewIndexEntry(m.Title, m.Content))
	})
}

// Team adds a workspace with members.
func Team(t testing.TB, s *store.Store, owner *identity.Actor, members map[*identity.Actor]loci.Role) loci.ID {
	t.Helper()
	w := testenv.Must(store.Write(context.Background(), s, owner, func(tx *store.Tx) (loci.Workspace, error) {
		account, err := tx.Account()
		if err != nil {
			return loci.Workspace{}, err
		}
		return account.AddWorkspace("Crew")
	}))(t)
	for actor, role := range members {
		Join(t, s, owner, w.ID, actor, role)
	}
	return w.ID
}

// Join makes an actor a member of a workspace.
func Join(t testing.TB, s *store.Store, owner *identity.Actor, workspace loci.ID, actor *identity.Actor,
	role loci.Role) {
	t.Helper()
	i := testenv.Must(store.Write(context.Background(), s, owner, func(tx *store.Tx) (loci.Invitation, error) {
		w, err := tx.Workspace(workspace, loci.RoleAdmin, store.ToChange)
		if err != nil {
			return loci.Invitation{}, err
		}
		i, _, err := w.Invite(loci.Email(actor.Email), role, loci.Days(1).Duration(),
			identity.SecretHash(identity.NewSecret()))
		return i, err
	}))(t)
	testenv.Must(store.Write(context.Background(), s, actor, func(tx *store.Tx) (loci.Invitation, error) {
		in, err := tx.IncomingInvitation(i.ID, nil)
		if err != nil {
			return i, err
		}
		return in.Respond(true)
	}))(t)
}

// IDs lists the memories of a filter.
func IDs(t testing.TB, s *store.Store, actor *identity.Actor, f loci.MemoryFilter, limit int) (out []loci.ID) {
	t.Helper()
	list := testenv.Must(store.Read(context.Background(), s, actor, func(tx *store.Tx) ([]loci.Memory, error) {
		list, err := memorydb.List(tx, f, page.Request{Limit: limit})
		return list.Items, err
	}))(t)
	for _, m := range list {
		out = append(out, m.ID)
	}
	return out
}

// Backlog counts the embedding queue.
func Backlog(t testing.TB, s *store.Store) embeddb.QueueStats {
	t.Helper()
	b := testenv.Must(store.SystemRead(context.Background(), s, "test", (*store.SystemTx).EmbeddingQueue))(t)
	return b
}

// WaitForEmbeddings waits until the embedding queue is empty.
func WaitForEmbeddings(t testing.TB, s *store.Store) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); Backlog(t, s).Pending > 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still waiting: %+v", Backlog(t, s))
		}
	}
}

// RunConcurrently runs n calls of f at once, and returns their errors. It repeats a call that a busy database refuses,
// as a client does.
func RunConcurrently(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	start := make(chan bool)
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = f(i)
			for loci.Is(errs[i], loci.CodeUnavailable) {
				errs[i] = f(i)
			}
		})
	}
	close(start)
	all.Wait()
	return errs
}

// CheckIntegrity checks a store, and repairs it if repair is set.
func CheckIntegrity(t testing.TB, s *store.Store, repair bool) integrity.Report {
	t.Helper()
	sum := testenv.Must(integrity.New(s).Check(context.Background(), integrity.Options{Repair: repair}))(t)
	return sum
}

// CheckHealthy checks a store, which must have no inconsistency.
func CheckHealthy(t testing.TB, s *store.Store) integrity.Report {
	t.Helper()
	sum := CheckIntegrity(t, s, false)
	if sum.Found != 0 || len(sum.Inconsistencies) != 0 {
		t.Fatalf("%d inconsistencies: %v", sum.Found, sum.Inconsistencies)
	}
	return sum
}

// Update changes a memory.
func Update(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID, change func(m *loci.Memory)) loci.Memory {
	t.Helper()
	return update(t, s, actor, id, store.ToMove, change)
}

// Review records a review of a memory.
func Review(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID, change func(m *loci.Memory)) loci.Memory {
	t.Helper()
	return update(t, s, actor, id, store.ToReview, change)
}

func update(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID, p store.Purpose,
	change func(m *loci.Memory)) loci.Memory {
	t.Helper()
	m := testenv.Must(store.Write(context.Background(), s, actor, func(tx *store.Tx) (loci.Memory, error) {
		h, err := memorydb.Open(tx, id, p)
		if err != nil {
			return loci.Memory{}, err
		}
		was := h.Record()
		next := was
		change(&next)
		if next.TitleDerived && next.Content != was.Content && next.Title == was.Title {
			next.Title = title.Derive(next.Content)
		}
		next.TitleDerived = next.TitleDerived && next.Title == title.Derive(next.Content)
		return h.Update(next, nil)
	}))(t)
	return m
}

// Flush flushes the keyword index of a workspace.
func Flush(t testing.TB, s *store.Store, workspace loci.ID) {
	t.Helper()
	testenv.NoError(t, s.Flush(context.Background(), workspace))
}
