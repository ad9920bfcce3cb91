package grantdb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A fakeClock is the machine's clock, moved forward.
type fakeClock struct{ ahead atomic.Int64 }

func (c *fakeClock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *fakeClock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// opens reports whether an access token opens anything.
func opens(t testing.TB, s *store.Store, access string) bool {
	t.Helper()
	_, err := credential(s, access)
	if err != nil && !loci.Is(err, loci.CodeNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

func credential(s *store.Store, access string) (accountdb.Credential, error) {
	return store.SystemRead(context.Background(), s, "test", func(x *store.SystemTx) (accountdb.Credential, error) {
		return x.Credential(identity.CredentialToken, identity.SecretHash(access))
	})
}

// grants runs f in a transaction on grants.
func grants(t testing.TB, s *store.Store, f func(grantdb.Tx) error) {
	t.Helper()
	testenv.NoError(t, try(s, f))
}

func try(s *store.Store, f func(grantdb.Tx) error) error {
	_, err := store.System(context.Background(), s, "test", func(x *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, f(x.Grants())
	})
	return err
}

// world is a user with two teams.
type world struct {
	db     storetest.Database
	clock  *fakeClock
	s      *store.Store
	ann    *identity.Actor
	signIn loci.ID
	teams  []loci.ID
}

func newWorld(t testing.TB, d storetest.Database) world {
	w := world{db: d, clock: &fakeClock{}}
	w.s = d.Open(t, store.Options{Clock: w.clock.now})
	w.ann = storetest.User(t, w.s, "ann")
	w.signIn = storetest.SignIn(t, w.s, w.ann.UserID)
	w.teams = []loci.ID{storetest.Team(t, w.s, w.ann, nil), storetest.Team(t, w.s, w.ann, nil)}
	return w
}

// eachWorld runs a test with a new world in every database.
func eachWorld(t *testing.T, f func(t *testing.T, w world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, d storetest.Database) { f(t, newWorld(t, d)) })
}

// code returns a request with a new code for both teams.
func (w world) code(t testing.TB) grantdb.Redemption {
	t.Helper()
	c, r := storetest.Consent(w.ann.UserID, w.signIn, "editor", w.teams...)
	r.Code = testenv.Must(storetest.Authorize(w.s, c))(t)
	return r
}

func (w world) token(t testing.TB) grantdb.Tokens {
	t.Helper()
	return testenv.Must(storetest.Redeem(w.s, w.code(t)))(t)
}

func TestCodeBecomesTokensOfItsWorkspaces(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		k := w.token(t)
		if !identity.ValidAccessToken(k.Access) || !identity.ValidRefreshToken(k.Refresh) || k.Scope != "mcp" ||
			k.ExpiresIn != time.Hour {
			t.Errorf("the tokens are %+v", k)
		}
		c, err := credential(w.s, k.Access)
		if err != nil || c.UserID != w.ann.UserID || c.Kind != identity.CredentialToken || c.Revoked ||
			!slices.Equal(c.Workspaces, w.teams) || c.Email != w.ann.Email {
			t.Errorf("the credential is %+v, %v", c, err)
		}
		if opens(t, w.s, k.Refresh) {
			t.Error("a refresh token opens something")
		}
	})
}

// A grant of the whole account has no list of workspaces that could narrow or end it.
func TestAccountGrantReachesAccount(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		k := storetest.AccountToken(t, w.s, w.ann.UserID)
		narrow := w.token(t)
		c, err := credential(w.s, k.Access)
		if err != nil || k.Scope != "mcp account" || c.Kind != identity.CredentialAccount || c.Workspaces != nil ||
			c.UserID != w.ann.UserID {
			t.Errorf("%+v has the credential %+v, %v", k, c, err)
		}
		for _, g := range w.list(t, w.ann.UserID) {
			got, err := store.SystemRead(t.Context(), w.s, "test",
				func(x *store.SystemTx) (accountdb.Credential, error) {
					return x.CredentialByID(identity.CredentialAccount, g.ID)
				})
			if whole := g.Scope == "mcp account"; whole != (err == nil) || whole != (g.ID == c.ID) ||
				whole != (len(g.Workspaces) == 0) || !whole && !loci.Is(err, loci.CodeNotFound) {
				t.Errorf("the grant %+v is found by its id as %+v, %v", g, got, err)
			}
		}
		for _, team := range w.teams {
			testenv.Must(store.Write(t.Context(), w.s, w.ann, func(tx *store.Tx) (loci.Empty, error) {
				h, err := tx.Workspace(team, loci.RoleOwner, store.InAnyState)
				if err == nil {
					_, err = h.Delete(false)
				}
				return loci.Empty{}, err
			}))(t)
		}
		grants(t, w.s, grantdb.Tx.DeleteExpired)
		if opens(t, w.s, narrow.Access) || !opens(t, w.s, k.Access) {
			t.Error("the grant of two teams outlives them, or that of the account ends with them")
		}
		next := w.refresh(t, k.Refresh)
		if c, err := credential(w.s, next.Access); err != nil || next.Scope != k.Scope ||
			c.Kind != identity.CredentialAccount {
			t.Errorf("a refresh makes %+v of it, %v", c, err)
		}
		w.clock.advance(61 * 24 * time.Hour)
		grants(t, w.s, grantdb.Tx.DeleteExpired)
		if list := w.list(t, w.ann.UserID); len(list) != 0 || opens(t, w.s, next.Access) {
			t.Errorf("it outlives its time: %+v", list)
		}
	})
}

func TestCodeIsBoundToItsRequest(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		for name, change := range map[string]func(*grantdb.Redemption){
			"client":         func(r *grantdb.Redemption) { r.ClientID = "other" },
			"redirect":       func(r *grantdb.Redemption) { r.RedirectURI += "?" },
			"no redirect":    func(r *grantdb.Redemption) { r.RedirectURI = "" },
			"verifier":       func(r *grantdb.Redemption) { r.Verifier = identity.NewSecret() },
			"no verifier":    func(r *grantdb.Redemption) { r.Verifier = "" },
			"resource":       func(r *grantdb.Redemption) { r.Resource = "https://other.example/mcp" },
			"code":           func(r *grantdb.Redemption) { r.Code = identity.NewSecret() },
			"expired":        func(*grantdb.Redemption) { w.clock.advance(61 * time.Second) },
			"ended sign-in":  func(*grantdb.Redemption) { w.endSignIns(t) },
			"no code at all": func(r *grantdb.Redemption) { r.Code = "" },
		} {
			right := w.code(t)
			wrong := right
			change(&wrong)
			if _, err := storetest.Redeem(w.s, wrong); !errors.Is(err, storetest.ErrInvalidGrant) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := storetest.Redeem(w.s, right); wrong.Code == right.Code &&
				!errors.Is(err, storetest.ErrInvalidGrant) {
				t.Errorf("%s: a refused attempt left the code: %v", name, err)
			}
			w.signIn = storetest.SignIn(t, w.s, w.ann.UserID)
		}
		r := w.code(t)
		r.Resource = "https://loci.example/mcp"
		if _, err := storetest.Redeem(w.s, r); err != nil {
			t.Errorf("the resource of the code: %v", err)
		}
	})
}

func (w world) endSignIns(t testing.TB) {
	t.Helper()
	testenv.Must(store.System(context.Background(), w.s, "test", func(x *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, x.EndSignIns(w.ann.UserID)
	}))(t)
}

func TestClientOfAnyBytesIsNotFound(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		for _, id := range []string{"", "\x00", "a\x00b", "\xff\xfe", "unknown", "it's"} {
			if err := try(w.s, func(x grantdb.Tx) error {
				_, err := x.Client(id)
				return err
			}); !loci.Is(err, loci.CodeNotFound) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

// Anyone can register clients, from many addresses.
func TestClientsAreBounded(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		add := func(id string) {
			grants(t, w.s, func(x grantdb.Tx) error { return x.AddClient(grantdb.Client{ID: id}) })
			w.clock.advance(time.Second)
		}
		add("editor")
		w.token(t) // of editor, which is kept
		add("oldest")
		add("older")
		w.db.Exec(t, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9997)
			INSERT INTO oauth_clients (id, name, uri, redirect_uris, created_at, used_at)
			SELECT 'c' || i, '', '', '[]', %[1]d + i, %[1]d + i FROM n`, loci.TimeOf(w.clock.now())))
		for i, want := range []string{"10000", "10001", "10001", "10001"} { // one of them is editor
			testenv.Equal(t, w.db.Query(t, `SELECT count(*) FROM oauth_clients`)[0], want, "after", i)
			w.clock.advance(time.Minute)
			add(fmt.Sprint("new", i))
		}
		kept := w.db.Query(t, `SELECT id FROM oauth_clients WHERE id IN ('editor', 'oldest', 'older', 'new0', 'new3')
			ORDER BY id`)
		testenv.Equal(t, fmt.Sprint(kept), "[editor new0 new3]", kept)
	})
}
