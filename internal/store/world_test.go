package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
)

var ctx = context.Background()

// stopped is a clock that goes on when it is told to.
type stopped struct{ since atomic.Int64 }

func (c *stopped) time() time.Time     { return time.Unix(1_800_000_000, c.since.Load()) }
func (c *stopped) add(d time.Duration) { c.since.Add(int64(d)) }

// user makes a user and returns an actor with a key's credential.
func user(t testing.TB, s *store.Store, name string) *loci.Actor {
	t.Helper()
	u, err := store.System(ctx, s, "test", func(x *store.SystemTx) (loci.User, error) {
		return x.AddUser(store.NewUser{Email: loci.Email(name + "@example.com"), Name: name, Verified: true})
	})
	if err != nil {
		t.Fatal(err)
	}
	return &loci.Actor{UserID: u.ID, Email: u.Email, Credential: loci.KeyCredential, CredentialID: loci.NewID(s.Now().Std())}
}

// add stores a memory in a workspace; an empty one is the actor's own.
func add(t testing.TB, s *store.Store, who *loci.Actor, workspace, content string, change ...func(*loci.Memory)) loci.Memory {
	t.Helper()
	m, err := tryAdd(s, who, workspace, content, change...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func tryAdd(s *store.Store, who *loci.Actor, workspace, content string, change ...func(*loci.Memory)) (loci.Memory, error) {
	m := loci.Memory{Title: loci.DeriveTitle(content), Content: content, Type: loci.Note}
	for _, c := range change {
		c(&m)
	}
	return store.Write(ctx, s, who, func(tx *store.Tx) (loci.Memory, error) {
		shelf, err := tx.Shelf(workspace)
		if err != nil {
			return m, err
		}
		a, err := shelf.Pick(-1, loci.Unlimited)
		if err != nil {
			return m, err
		}
		return a.AddMemory(m, store.NewEntry(m.Title, m.Content))
	})
}

// team makes a workspace of owner's with members.
func team(t testing.TB, s *store.Store, owner *loci.Actor, members map[*loci.Actor]loci.Role) string {
	t.Helper()
	w, err := store.Write(ctx, s, owner, func(tx *store.Tx) (loci.Workspace, error) {
		self, err := tx.Self()
		if err != nil {
			return loci.Workspace{}, err
		}
		return self.AddWorkspace("Crew", loci.Unlimited)
	})
	if err != nil {
		t.Fatal(err)
	}
	for who, role := range members {
		join(t, s, owner, w.ID, who, role)
	}
	return w.ID
}

func join(t testing.TB, s *store.Store, owner *loci.Actor, workspace string, who *loci.Actor, role loci.Role) {
	t.Helper()
	i, err := store.Write(ctx, s, owner, func(tx *store.Tx) (loci.Invitation, error) {
		w, err := tx.Workspace(workspace, loci.Admin)
		if err != nil {
			return loci.Invitation{}, err
		}
		i, _, err := w.Invite(loci.Email(who.Email), role, loci.Days(1).Span(), loci.SecretHash(loci.NewSecret()))
		return i, err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Write(ctx, s, who, func(tx *store.Tx) (loci.Invitation, error) {
		in, err := tx.Invited(i.ID, nil)
		if err != nil {
			return i, err
		}
		return in.Respond(true)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ids lists what a filter shows.
func ids(t testing.TB, s *store.Store, who *loci.Actor, f store.Filter, limit int) (out []string) {
	t.Helper()
	list, err := store.Read(ctx, s, who, func(tx *store.Tx) ([]loci.Memory, error) {
		list, err := tx.Memories(f, store.Page{Limit: limit})
		return list.Items, err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		out = append(out, m.ID)
	}
	return out
}

// found searches by keywords.
func found(t testing.TB, s *store.Store, who *loci.Actor, query string, f store.Filter) store.Findings {
	t.Helper()
	r, err := store.Read(ctx, s, who, func(tx *store.Tx) (store.Findings, error) {
		return tx.Find(store.Question{Words: search.Parse(query)}, f, "", 50)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// serve returns a service on the store: the rules of what may be done stand there.
func serve(s *store.Store) *service.Service {
	return service.New(service.Options{Store: s, Plan: loci.Plans[loci.SelfHosted], Clock: time.Now})
}
