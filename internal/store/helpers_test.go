package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

var ctx = context.Background()

// fakeClock is a clock that goes on when it is told to.
type fakeClock struct{ since atomic.Int64 }

func (c *fakeClock) time() time.Time     { return time.Unix(1_800_000_000, c.since.Load()) }
func (c *fakeClock) add(d time.Duration) { c.since.Add(int64(d)) }

// user makes a user and returns an actor with a key's credential.
func user(t testing.TB, s *store.Store, name string) *identity.Actor {
	t.Helper()
	u, err := store.System(ctx, s, "test", func(x *store.SystemTx) (loci.User, error) {
		return x.AddUser(store.NewUser{Email: loci.Email(name + "@example.com"), Name: name, Verified: true})
	})
	if err != nil {
		t.Fatal(err)
	}
	return &identity.Actor{UserID: u.ID, Email: u.Email, CredentialKind: identity.CredentialKey,
		CredentialID: loci.NewID(s.Now().Std())}
}

// add stores a memory in a workspace; an empty one is the actor's own.
func add(t testing.TB, s *store.Store, actor *identity.Actor, workspace, content string,
	change ...func(*loci.Memory)) loci.Memory {
	t.Helper()
	m, err := tryAdd(s, actor, workspace, content, change...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func tryAdd(s *store.Store, actor *identity.Actor, workspace, content string,
	change ...func(*loci.Memory)) (loci.Memory,
	error) {
	m := loci.Memory{Title: loci.DeriveTitle(content), Content: content, Type: loci.TypeNote}
	for _, c := range change {
		c(&m)
	}
	return store.Write(ctx, s, actor, func(tx *store.Tx) (loci.Memory, error) {
		targets, err := tx.RoutingTargets(workspace)
		if err != nil {
			return m, err
		}
		a, err := targets.Atlas(-1, loci.Unlimited)
		if err != nil {
			return m, err
		}
		return a.AddMemory(m, store.NewIndexEntry(m.Title, m.Content))
	})
}

// team makes a workspace of owner's with members.
func team(t testing.TB, s *store.Store, owner *identity.Actor, members map[*identity.Actor]loci.Role) string {
	t.Helper()
	w, err := store.Write(ctx, s, owner, func(tx *store.Tx) (loci.Workspace, error) {
		account, err := tx.Account()
		if err != nil {
			return loci.Workspace{}, err
		}
		return account.AddWorkspace("Crew", loci.Unlimited)
	})
	if err != nil {
		t.Fatal(err)
	}
	for actor, role := range members {
		join(t, s, owner, w.ID, actor, role)
	}
	return w.ID
}

func join(t testing.TB, s *store.Store, owner *identity.Actor, workspace string, actor *identity.Actor,
	role loci.Role) {
	t.Helper()
	i, err := store.Write(ctx, s, owner, func(tx *store.Tx) (loci.Invitation, error) {
		w, err := tx.Workspace(workspace, loci.RoleAdmin)
		if err != nil {
			return loci.Invitation{}, err
		}
		i, _, err := w.Invite(loci.Email(actor.Email), role, loci.Days(1).Duration(),
			identity.SecretHash(identity.NewSecret()))
		return i, err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Write(ctx, s, actor, func(tx *store.Tx) (loci.Invitation, error) {
		in, err := tx.IncomingInvitation(i.ID, nil)
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
func ids(t testing.TB, s *store.Store, actor *identity.Actor, f store.Filter, limit int) (out []string) {
	t.Helper()
	list, err := store.Read(ctx, s, actor, func(tx *store.Tx) ([]loci.Memory, error) {
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

// searchKeywords searches by keywords.
func searchKeywords(t testing.TB, s *store.Store, actor *identity.Actor, text string,
	f store.Filter) retrieve.Result {
	t.Helper()
	r, err := store.Read(ctx, s, actor, func(tx *store.Tx) (retrieve.Result, error) {
		return storetest.Search(tx, retrieve.Query{Keywords: query.Parse(text)}, f, "", 50)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newService returns a service on the store: the rules of what may be done stand there.
func newService(s *store.Store) *service.Service {
	return service.New(service.Options{Store: s, Plan: identity.Plans[loci.PlanSelfHosted], Clock: time.Now})
}
