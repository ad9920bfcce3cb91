package grantdb_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// list returns the grants of a user.
func (w world) list(t testing.TB, userID loci.ID) (all []loci.Grant) {
	t.Helper()
	grants(t, w.s, func(x grantdb.Tx) error {
		list, err := x.List(userID, page.Request{Limit: 1000})
		all = list.Items
		return err
	})
	return all
}

func TestTokenRevokesItsGrant(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		for _, which := range []func(first, last grantdb.Tokens) string{
			func(first, _ grantdb.Tokens) string { return first.Access },
			func(first, _ grantdb.Tokens) string { return first.Refresh },
			func(_, last grantdb.Tokens) string { return last.Refresh },
		} {
			first, other := w.token(t), w.token(t)
			last := w.refresh(t, first.Refresh)
			token := which(first, last)
			for _, client := range []string{"other", "editor", "editor"} {
				grants(t, w.s, func(x grantdb.Tx) error { _, err := x.RevokeToken(token, client); return err })
				if opens(t, w.s, last.Access) != (client == "other") || !opens(t, w.s, other.Access) {
					t.Errorf("a token that %s revoked", client)
				}
				if client == "editor" {
					w.refuses(t, "a revoked grant", last.Refresh, "editor")
				}
			}
		}
		grants(t, w.s, func(x grantdb.Tx) error { _, err := x.RevokeToken("made up", "editor"); return err })
	})
}

func TestUserRevokesOwnGrantAlone(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		k := w.token(t)
		g := w.list(t, w.ann.UserID)[0]
		eve := storetest.User(t, w.s, "eve")
		if err := try(w.s, func(x grantdb.Tx) error { return x.Revoke(eve.UserID, g.ID) }); !loci.Is(err,
			loci.CodeNotFound) {
			t.Errorf("eve revokes it: %v", err)
		}
		if !opens(t, w.s, k.Access) || len(w.list(t, eve.UserID)) != 0 {
			t.Error("eve reaches the grant")
		}
		grants(t, w.s, func(x grantdb.Tx) error { return x.Revoke(w.ann.UserID, g.ID) })
		if opens(t, w.s, k.Access) || len(w.list(t, w.ann.UserID)) != 0 {
			t.Error("a revoked grant works")
		}
	})
}

func TestListDescribesGrants(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		w.token(t)
		g := w.list(t, w.ann.UserID)[0]
		if g.Client != (loci.GrantClient{ID: "editor", Name: "Editor", URI: "https://editor.example"}) ||
			g.RedirectHost != "127.0.0.1:7008" || g.Scope != "mcp" || g.LastUsedAt != 0 || g.UpdatedAt != g.CreatedAt ||
			g.ExpiresAt-g.CreatedAt != loci.Time((60*24*time.Hour).Microseconds()) || len(g.Workspaces) != 2 ||
			g.Workspaces[0] != (loci.GrantWorkspace{ID: w.teams[0], Name: "Crew"}) {
			t.Errorf("the grant is %+v", g)
		}
	})
}

func (w world) leave(t testing.TB, actor *identity.Actor, team loci.ID) {
	t.Helper()
	testenv.Must(store.Write(context.Background(), w.s, actor, func(tx *store.Tx) (loci.Empty, error) {
		h, err := tx.Workspace(team, loci.RoleMember, store.InAnyState)
		if err != nil {
			return loci.Empty{}, err
		}
		return loci.Empty{}, h.Leave()
	}))(t)
}

// A grant reaches a workspace no longer than the membership lasts, and ends with its last one.
func TestEndedMembershipNarrowsGrant(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		bob := storetest.User(t, w.s, "bob")
		storetest.Join(t, w.s, w.ann, w.teams[0], bob, loci.RoleMember)
		storetest.Join(t, w.s, w.ann, w.teams[1], bob, loci.RoleMember)
		k := storetest.Token(t, w.s, bob.UserID, w.teams...)
		w.leave(t, bob, w.teams[0])
		storetest.Join(t, w.s, w.ann, w.teams[0], bob, loci.RoleMember)
		c, err := credential(w.s, k.Access)
		if err != nil || len(c.Workspaces) != 1 || c.Workspaces[0] != w.teams[1] {
			t.Errorf("after the return to one workspace the token reaches %v, %v", c.Workspaces, err)
		}
		w.leave(t, bob, w.teams[1])
		if opens(t, w.s, k.Access) || len(w.list(t, bob.UserID)) != 0 {
			t.Error("a grant without workspaces lives")
		}
		w.refuses(t, "a grant without workspaces", k.Refresh, "editor")
		grants(t, w.s, grantdb.Tx.DeleteExpired)
		testenv.Equal(t, w.db.Query(t, `SELECT CAST(count(*) AS TEXT) FROM grants`)[0], "0", "grants are left")
	})
}

// A code that waits for its redemption does not outlast the membership either.
func TestReturnToWorkspaceDoesNotReviveCode(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		bob := storetest.User(t, w.s, "bob")
		for _, team := range w.teams {
			storetest.Join(t, w.s, w.ann, team, bob, loci.RoleMember)
		}
		signIn := storetest.SignIn(t, w.s, bob.UserID)
		for _, left := range [][]loci.ID{w.teams[1:], w.teams} {
			consent, r := storetest.Consent(bob.UserID, signIn, "editor", w.teams...)
			var err error
			r.Code = testenv.Must(storetest.Authorize(w.s, consent))(t)
			w.clock.advance(time.Second)
			for _, team := range left {
				w.leave(t, bob, team)
				storetest.Join(t, w.s, w.ann, team, bob, loci.RoleMember)
			}
			_, err = storetest.Redeem(w.s, r)
			if len(left) == len(w.teams) {
				refused(t, "a code without workspaces", err)
			} else if g := w.list(t, bob.UserID); err != nil || len(g) != 1 || len(g[0].Workspaces) != 1 ||
				g[0].Workspaces[0].ID != w.teams[0] {
				t.Errorf("after the return to one workspace the grants are %+v, %v", g, err)
			}
		}
	})
}

func TestConsentCoversOwnWorkspacesAlone(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		eve := storetest.User(t, w.s, "eve")
		team := storetest.Team(t, w.s, eve, nil)
		many := make([]loci.ID, grantdb.MaxWorkspaces+1)
		for i := range many {
			many[i] = loci.NewID(time.Now())
		}
		for name, c := range map[string]struct {
			signIn     loci.ID
			workspaces []loci.ID
			code       loci.Code
		}{
			"none":              {w.signIn, nil, loci.CodeInvalidQuery},
			"too many":          {w.signIn, many, loci.CodeInvalidQuery},
			"one of another":    {w.signIn, []loci.ID{w.teams[0], team}, loci.CodeNotFound},
			"an unknown one":    {w.signIn, []loci.ID{loci.NewID(time.Now())}, loci.CodeNotFound},
			"another's browser": {storetest.SignIn(t, w.s, eve.UserID), w.teams, loci.CodeRevoked},
		} {
			consent, _ := storetest.Consent(w.ann.UserID, c.signIn, "editor", c.workspaces...)
			if _, err := storetest.Authorize(w.s, consent); !loci.Is(err, c.code) {
				t.Errorf("%s: %v, want %s", name, err, c.code)
			}
		}
		twice, r := storetest.Consent(w.ann.UserID, w.signIn, "editor", w.teams[0], w.teams[0])
		var err error
		if r.Code, err = storetest.Authorize(w.s, twice); err == nil {
			_, err = storetest.Redeem(w.s, r)
		}
		if err != nil || len(w.list(t, w.ann.UserID)[0].Workspaces) != 1 {
			t.Errorf("a workspace that is named twice: %v", err)
		}
	})
}

func TestUserHasAtMostAHundredGrantsAndTwentyCodes(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		var tokens []grantdb.Tokens
		for i := range 101 {
			w.clock.advance(time.Second)
			tokens = append(tokens, w.token(t))
			if i == 50 {
				w.clock.advance(time.Second)
				w.refresh(t, tokens[0].Refresh) // the second one is used least recently now
			}
		}
		if !opens(t, w.s, tokens[0].Access) || opens(t, w.s, tokens[1].Access) || !opens(t, w.s, tokens[2].Access) ||
			len(w.list(t, w.ann.UserID)) != 100 {
			t.Error("another grant than the least recently used one ended")
		}
		var requests []grantdb.Redemption
		for range 21 {
			requests = append(requests, w.code(t))
		}
		_, err := storetest.Redeem(w.s, requests[0])
		refused(t, "the oldest code", err)
		if _, err := storetest.Redeem(w.s, requests[1]); err != nil {
			t.Errorf("the second code: %v", err)
		}
	})
}

// TestConsentLocksUserBeforeMemberships lets the deletion of an account wait between its two locks. In another order
// they would wait for each other.
func TestConsentLocksUserBeforeMemberships(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		if w.db.Address == "" {
			return // SQLite has one writer
		}
		deletion := testenv.Must(w.db.DB(t).BeginTx(t.Context(), nil))(t)
		defer deletion.Rollback()
		count := func(q string, args ...any) (n int) {
			row := deletion.QueryRowContext(t.Context(), `SELECT count(*) FROM (`+q+`) AS x`, args...)
			testenv.NoError(t, row.Scan(&n))
			return n
		}
		count(`SELECT 1 FROM users WHERE id = $1 FOR UPDATE`, string(w.ann.UserID))
		done := make(chan error, 1)
		go func() {
			consent, _ := storetest.Consent(w.ann.UserID, w.signIn, "client", w.teams...)
			_, err := storetest.Authorize(w.s, consent)
			done <- err
		}()
		waittest.Until(t, func() bool {
			return count(`SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))`) > 0
		})
		count(`SELECT 1 FROM members WHERE user_id = $1 FOR UPDATE NOWAIT`, string(w.ann.UserID))
		testenv.NoError(t, deletion.Rollback())
		testenv.NoError(t, <-done)
	})
}

func TestDisabledUserGetsNoTokens(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		k, r := w.token(t), w.code(t)
		disable := func(disabled bool) {
			testenv.Must(store.System(context.Background(), w.s, "test", func(x *store.SystemTx) (loci.User, error) {
				return x.SetDisabled(loci.Email(w.ann.Email), disabled)
			}))(t)
		}
		disable(true)
		if c, err := credential(w.s, k.Access); err != nil || !c.Revoked {
			t.Errorf("the credential is %+v, %v", c, err)
		}
		w.refuses(t, "the refresh token of a disabled user", k.Refresh, "editor")
		_, err := storetest.Redeem(w.s, r)
		refused(t, "the code of a disabled user", err)
		disable(false)
		w.refresh(t, k.Refresh)
	})
}

// TestSweepEndsFewGrantsAtOnce fills the table beyond the limit of a user: other writers wait for the sweep.
func TestSweepEndsFewGrantsAtOnce(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		hash := `randomblob(16)`
		if w.db.Address != "" {
			hash = `decode(md5(random()::text), 'hex')`
		}
		k := w.token(t)
		w.db.Exec(t, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
			INSERT INTO grants (id, user_id, client_id, client_name, client_uri, redirect_uri, resource, scope, code_hash,
				family_hash, created_at, updated_at, last_used_at, expires_at)
			SELECT 'dead ' || i, '`+string(w.ann.UserID)+`', '', '', '', '', '', '', `+hash+`, `+hash+`, 5, 5, 5, 5 FROM n`)
		for _, want := range []string{"501", "1", "1"} {
			grants(t, w.s, grantdb.Tx.DeleteExpired)
			testenv.Equal(t, w.db.Query(t, `SELECT count(*) FROM grants`)[0], want, "grants are left")
		}
		if !opens(t, w.s, k.Access) {
			t.Error("a live grant ended")
		}
	})
}

func TestUnusedClientsAreDeletedAfterAWeek(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		clients := func() (n int) {
			grants(t, w.s, func(x grantdb.Tx) error {
				for _, id := range []string{"editor", "unused"} {
					if c, err := x.Client(id); err == nil && c.Name == "A <program>" && len(c.RedirectURIs) == 2 {
						n++
					} else if !loci.Is(err, loci.CodeNotFound) {
						t.Errorf("%+v, %v", c, err)
					}
				}
				return nil
			})
			return n
		}
		grants(t, w.s, func(x grantdb.Tx) error {
			for _, id := range []string{"editor", "unused"} {
				if err := x.AddClient(grantdb.Client{ID: id, Name: "A <program>", RedirectURIs: []string{
					"http://localhost/a", `app:/"b"`}}); err != nil {
					return err
				}
			}
			return nil
		})
		k := w.token(t)
		for days, want := range []int{2, 2, 2, 2, 2, 2, 2, 1, 1, 1} {
			grants(t, w.s, grantdb.Tx.DeleteExpired)
			testenv.Equal(t, clients(), want, "after", days)
			w.clock.advance(24*time.Hour + time.Minute)
		}
		k = w.refresh(t, k.Refresh)
		grants(t, w.s, func(x grantdb.Tx) error { _, err := x.RevokeToken(k.Refresh, "editor"); return err })
		w.clock.advance(6 * 24 * time.Hour)
		grants(t, w.s, grantdb.Tx.DeleteExpired)
		testenv.Equal(t, clients(), 1, "a client is deleted sooner than a week after its last use")
		w.clock.advance(25 * time.Hour)
		grants(t, w.s, grantdb.Tx.DeleteExpired)
		testenv.Equal(t, clients(), 0, "a client without grants is not deleted")
	})
}

// Nothing that opens anything is in the database.
func TestDatabaseHoldsNoCodeAndNoToken(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		r := w.code(t)
		k := w.token(t)
		last := w.refresh(t, k.Refresh)
		secrets := []string{r.Code, r.Verifier, k.Access, k.Refresh, last.Access, last.Refresh}
		columns, text := 0, `hex(CAST(%s AS BLOB))`
		if w.db.Address != "" {
			text = `CASE WHEN pg_typeof(%[1]s)::text = 'bytea' THEN upper(encode(%[1]s::text::bytea, 'hex'))
				ELSE upper(encode(convert_to(%[1]s::text, 'UTF8'), 'hex')) END`
		}
		for _, table := range []string{"oauth_codes", "grants", "grant_workspaces", "grant_tokens"} {
			list := `SELECT name FROM pragma_table_info('` + table + `')`
			if w.db.Address != "" {
				list = `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()
					AND table_name = '` + table + `'`
			}
			for _, column := range w.db.Query(t, list) {
				columns++
				for _, value := range w.db.Query(t, fmt.Sprintf(`SELECT COALESCE(`+text+`, '') FROM `+table, column)) {
					for _, secret := range secrets {
						if strings.Contains(value, strings.ToUpper(hex.EncodeToString([]byte(secret)))) {
							t.Errorf("%s.%s holds a secret", table, column)
						}
					}
				}
			}
		}
		if columns < 30 {
			t.Errorf("only %d columns were searched", columns)
		}
	})
}

func TestRedirectHostNamesTheReceiver(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{"https://app.example:8443/cb": "app.example:8443",
		"http://127.0.0.1:1/cb": "127.0.0.1:1", "cursor://anysphere/cb": "cursor:",
		"com.example.app:/cb": "com.example.app:",
		"no uri":              ""} {
		testenv.Equal(t, grantdb.RedirectHost(uri), want, uri)
	}
}
