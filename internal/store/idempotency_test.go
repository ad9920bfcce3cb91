package store_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/seal"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// withIdempotencyKey returns the actor as it makes one more call with an Idempotency-Key.
func withIdempotencyKey(actor *identity.Actor, key, arguments string) *identity.Actor {
	call := *actor
	call.Idempotency = &identity.Idempotency{Key: key, Fingerprint: sha256.Sum256([]byte(arguments)),
		EncryptionKey: sha256.Sum256([]byte(actor.CredentialID))}
	return &call
}

func TestIdempotencyKeyRunsWriteOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var now fakeClock
		s := d.Open(t, store.Options{Clock: now.time})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		first := withIdempotencyKey(ann, "k", "a")
		m := add(t, s, first, "", "text")
		for _, c := range []struct {
			name     string
			later    time.Duration
			who      *identity.Actor
			same     bool
			code     loci.Code
			replayed bool
		}{
			{"the same again", 0, withIdempotencyKey(ann, "k", "a"), true, "", true},
			{"other arguments", 0, withIdempotencyKey(ann, "k", "b"), false, loci.CodeIdempotencyConflict, false},
			{"another key", 0, withIdempotencyKey(ann, "l", "a"), false, "", false},
			{"another person", 0, withIdempotencyKey(bob, "k", "a"), false, "", false},
			{"just before a day has passed", 24*time.Hour - time.Millisecond, withIdempotencyKey(ann, "k", "a"), true,
				"", true},
			{"after a day", time.Millisecond, withIdempotencyKey(ann, "k", "a"), false, "", false},
			{"after a day with other arguments", 0, withIdempotencyKey(ann, "l", "z"), false, "", false},
		} {
			now.add(c.later)
			got, err := tryAdd(s, c.who, "", "text")
			if c.code != "" && !loci.Is(err, c.code) || c.code == "" && err != nil ||
				c.code == "" && (got.ID == m.ID) != c.same || c.who.Idempotency.Replayed != c.replayed {
				t.Errorf("%s: %s after %s, %v, replayed %v", c.name, got.ID, m.ID, err, c.who.Idempotency.Replayed)
			}
		}
		if n := len(ids(t, s, ann, loci.MemoryFilter{}, 100)); n != 4 || first.Idempotency.Replayed {
			t.Errorf("%d memories, want 4", n)
		}
	})
}

func TestFailedCallStoresNoResponse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		_, err := store.Write(ctx, s, withIdempotencyKey(ann, "k", "a"), func(tx *store.Tx) (loci.Empty, error) {
			if _, err := tx.Account(); err != nil {
				return loci.Empty{}, err
			}
			return loci.Empty{}, loci.NewError(loci.CodeStateConflict)
		})
		if !loci.Is(err, loci.CodeStateConflict) {
			t.Fatal(err)
		}
		again := withIdempotencyKey(ann, "k", "a")
		if _, err := tryAdd(s, again, "", "text"); err != nil || again.Idempotency.Replayed {
			t.Errorf("%v, replayed %v", err, again.Idempotency.Replayed)
		}
	})
}

func TestAccessIsCheckedBeforeStoredResponse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew := team(t, s, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		add(t, s, withIdempotencyKey(bob, "k", "a"), crew, "text")
		if _, err := tryAdd(s, withIdempotencyKey(bob, "k", "a"), crew, "text"); err != nil {
			t.Fatal(err)
		}
		narrowed := withIdempotencyKey(bob, "k", "a")
		narrowed.GrantedWorkspaces = []loci.ID{}
		if _, err := tryAdd(s, narrowed, crew, "text"); !loci.Is(err, loci.CodeNotFound) {
			t.Errorf("a narrowed token is told %v", err)
		}
		d.Exec(t, "DELETE FROM members WHERE role = 'member'")
		for _, arguments := range []string{"a", "b"} {
			if m, err := tryAdd(s, withIdempotencyKey(bob, "k", arguments), crew,
				"text"); !loci.Is(err, loci.CodeNotFound) || m.WorkspaceID != "" {
				t.Errorf("somebody who was a member is told %v, %v", m, err)
			}
		}
	})
}

func TestCallsWithOneKeyAtOnceAreOne(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		stores := []*store.Store{d.Open(t, store.Options{}), d.Open(t, store.Options{})}
		ann := user(t, stores[0], "ann")
		crew := team(t, stores[0], ann, nil) // whose Inbox is made by the first who needs it
		for _, key := range []string{"k", "l", "m"} {
			var all sync.WaitGroup
			var mu sync.Mutex
			made, repeated := map[loci.ID]int{}, 0
			for i := range 16 {
				all.Go(func() {
					actor := withIdempotencyKey(ann, key, "a")
					m, err := tryAdd(stores[i%2], actor, crew, "text "+key)
					mu.Lock()
					defer mu.Unlock()
					if made[m.ID]++; err != nil {
						t.Error(err)
					}
					if actor.Idempotency.Replayed {
						repeated++
					}
				})
			}
			all.Wait()
			if len(made) != 1 || repeated != 15 {
				t.Errorf("%d memories, %d repeated", len(made), repeated)
			}
		}
		if n := len(ids(t, stores[1], ann, loci.MemoryFilter{WorkspaceID: crew}, 100)); n != 3 {
			t.Errorf("%d memories, want 3", n)
		}
	})
}

func TestStoredResponsesAreEncrypted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		_, err := store.Write(ctx, s, withIdempotencyKey(ann, "k", "a"), func(tx *store.Tx) (map[string]string, error) {
			_, err := tx.Account()
			return map[string]string{"key": "loci_plainly_secret"}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range d.Query(t, "SELECT response FROM idempotency_keys") {
			if len(answer) < 20 || strings.Contains(answer, "secret") || strings.Contains(answer, "key") {
				t.Errorf("the column holds %q", answer)
			}
		}
		if d.Dir != "" {
			for _, name := range []string{"loci.db", "loci.db-wal"} {
				if b, err := os.ReadFile(filepath.Join(d.Dir, name)); err != nil ||
					bytes.Contains(b, []byte("plainly_secret")) {
					t.Errorf("%s shows the answer (%v)", name, err)
				}
			}
		}
		other := withIdempotencyKey(ann, "k", "a")
		other.Idempotency.EncryptionKey[0]++
		if out, err := store.Write(ctx, s, other, func(tx *store.Tx) (map[string]string, error) {
			_, err := tx.Account()
			return nil, err
		}); err == nil {
			t.Errorf("another credential opens it: %v", out)
		}
	})
}

func TestLongStoredResponsesAreCompressed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		long := strings.Repeat("\u0001", 260_000)
		answer := func(text string) (map[string]string, error) {
			return store.Write(ctx, s, withIdempotencyKey(ann, "k", "a"),
				func(tx *store.Tx) (map[string]string, error) {
					_, err := tx.Account()
					return map[string]string{"text": text}, err
				})
		}
		first, err := answer(long)
		if err != nil {
			t.Fatal(err)
		}
		if n := d.Query(t, "SELECT length(response) FROM idempotency_keys")[0]; len(n) > 5 {
			t.Errorf("%s bytes are stored", n)
		}
		if again, err := answer("is not asked for"); err != nil || again["text"] != first["text"] {
			t.Errorf("%d characters are answered again: %v", len(again["text"]), err)
		}
	})
}

func TestStoredResponsesOutliveAnUpgrade(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, d storetest.Database) {
		ann := createInitialSchema(t, d)
		keyed, db := withIdempotencyKey(ann, `a\b/c`, "a"), d.DB(t)
		for _, q := range []struct {
			text string
			args []any
		}{
			{`INSERT INTO api_keys (id, user_id, name, prefix, hash, created_at, updated_at, last_used_at, revoked_at)
				VALUES ($1, 'ann', '', '', $2, 5, 5, 5, 0)`, []any{string(ann.CredentialID), []byte("hash")}},
			{`INSERT INTO idempotency_keys (credential, key, fingerprint, created, response, created_at)
				VALUES ($1, $2, $3, TRUE, $4, $5)`, []any{string(ann.CredentialID), keyed.Idempotency.Key,
				keyed.Idempotency.Fingerprint[:],
				seal.Seal(keyed.Idempotency.EncryptionKey, []byte(`{"id":"old","title":"Kept"}`)), time.Now().UnixMicro()}},
			{`INSERT INTO idempotency_records (record, credential, key) VALUES ('old', $1, $2), ('read', $1, $2)`,
				[]any{string(ann.CredentialID), keyed.Idempotency.Key}},
		} {
			if _, err := db.Exec(q.text, q.args...); err != nil {
				t.Fatal(err)
			}
		}
		s := d.Open(t, store.Options{})
		if m, err := tryAdd(s, keyed, "", "text"); err != nil || m.ID != "old" || !keyed.Idempotency.Replayed {
			t.Errorf("the repeated write made %+v, %v", m, err)
		}
		testenv.EqualSlices(t, d.Query(t, `SELECT r.record || ' ' || u.id FROM idempotency_records r
			JOIN idempotency_keys k ON k.row_id = r.response JOIN users u ON u.row_id = k.owner ORDER BY 1`),
			[]string{"old ann", "read/" + string(ann.CredentialID) + " ann"}, "records")
	})
}

func TestWriteWithoutHandleRefusesIdempotencyKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		if _, err := store.Write(ctx, s, withIdempotencyKey(ann, "k", "a"), func(tx *store.Tx) (loci.User, error) {
			return tx.CurrentUser()
		}); err == nil {
			t.Error("a write that nothing repeats safely went through with a key")
		}
	})
}

func TestReadWithIdempotencyKeyReturnsStoredResponse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "first")
		search := func(actor *identity.Actor) int {
			f, err := store.Read(ctx, s, actor, func(tx *store.Tx) (retrieve.Result, error) {
				return storetest.Search(tx, retrieve.Query{Keywords: query.Parse("first")}, loci.MemoryFilter{}, "", 10)
			})
			if err != nil {
				t.Fatal(err)
			}
			return f.KeywordCandidates
		}
		search(withIdempotencyKey(ann, "k", "a"))
		add(t, s, ann, "", "another first")
		again := withIdempotencyKey(ann, "k", "a")
		if n := search(again); n != 1 || !again.Idempotency.Replayed {
			t.Errorf("%d found, replayed %v", n, again.Idempotency.Replayed)
		}
		if n := search(ann); n != 2 {
			t.Errorf("%d found without the key", n)
		}
	})
}

func TestStoredResponsesExpireAfterADay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var now fakeClock
		s := d.Open(t, store.Options{Clock: now.time})
		add(t, s, withIdempotencyKey(user(t, s, "ann"), "k", "a"), "", "text")
		for _, want := range []int64{0, 1, 0} {
			n, err := store.System(ctx, s, "test", func(x *store.SystemTx) (int64, error) {
				return x.DeleteExpiredResponses()
			})
			if err != nil || n != want {
				t.Errorf("%d dropped, want %d (%v)", n, want, err)
			}
			now.add(24*time.Hour + time.Millisecond)
		}
	})
}

func TestReadStoresNoResponseBeyondTheLimit(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		read := func(actor *identity.Actor) (replayed bool) {
			t.Helper()
			for range 2 {
				keyed := withIdempotencyKey(actor, "k", "a")
				if _, err := store.Read(ctx, s, keyed, (*store.Tx).Usage); err != nil {
					t.Fatal(err)
				}
				replayed = keyed.Idempotency.Replayed
			}
			return replayed
		}
		add(t, s, bob, "", "bytes")
		d.Exec(t, fmt.Sprintf(`INSERT INTO idempotency_keys (owner, key, fingerprint, created, response, created_at)
			WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1024)
			SELECT 1, 'key ' || i, key, TRUE, key, %d FROM n
			JOIN (SELECT document AS key FROM index_log LIMIT 1) AS bytes ON TRUE`, s.Now()))
		if !read(ann) {
			t.Error("responses of writes keep that of a read from being stored")
		}
		d.Exec(t, `DELETE FROM idempotency_keys WHERE key NOT LIKE 'key %'`)
		d.Exec(t, `INSERT INTO idempotency_records (record, response)
			SELECT 'read/`+string(ann.CredentialID)+`', row_id FROM idempotency_keys`)
		if read(ann) || !read(bob) {
			t.Error("the response of a read is stored beyond the limit, or not below it")
		}
		first, err := tryAdd(s, withIdempotencyKey(ann, "w", "a"), "", "text")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := tryAdd(s, withIdempotencyKey(ann, "w", "a"), "", "text"); err != nil || again.ID != first.ID {
			t.Errorf("a repeated write made %v: %v", again, err)
		}
	})
}
