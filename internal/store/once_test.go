package store_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// keyed returns the actor as it makes one more call with an Idempotency-Key.
func keyed(who *loci.Actor, key, arguments string) *loci.Actor {
	call := *who
	call.Once = &loci.Once{Key: key, Fingerprint: sha256.Sum256([]byte(arguments)), Seal: sha256.Sum256([]byte(who.CredentialID))}
	return &call
}

func TestACallWithAKeyIsDoneOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var now stopped
		s := d.Open(t, store.Options{Clock: now.time})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		first := keyed(ann, "k", "a")
		m := add(t, s, first, "", "text")
		for _, c := range []struct {
			name     string
			later    time.Duration
			who      *loci.Actor
			same     bool
			code     loci.Code
			replayed bool
		}{
			{"the same again", 0, keyed(ann, "k", "a"), true, "", true},
			{"other arguments", 0, keyed(ann, "k", "b"), false, loci.IdempotencyConflict, false},
			{"another key", 0, keyed(ann, "l", "a"), false, "", false},
			{"another person", 0, keyed(bob, "k", "a"), false, "", false},
			{"just before a day has passed", 24*time.Hour - time.Millisecond, keyed(ann, "k", "a"), true, "", true},
			{"after a day", time.Millisecond, keyed(ann, "k", "a"), false, "", false},
			{"after a day with other arguments", 0, keyed(ann, "l", "z"), false, "", false},
		} {
			now.add(c.later)
			got, err := tryAdd(s, c.who, "", "text")
			if c.code != "" && !loci.Is(err, c.code) || c.code == "" && err != nil || c.code == "" && (got.ID == m.ID) != c.same || c.who.Once.Replayed != c.replayed {
				t.Errorf("%s: %s after %s, %v, replayed %v", c.name, got.ID, m.ID, err, c.who.Once.Replayed)
			}
		}
		if n := len(ids(t, s, ann, store.Filter{}, 100)); n != 4 || first.Once.Replayed {
			t.Errorf("%d memories, want 4", n)
		}
	})
}

func TestAFailedCallKeepsNoAnswer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		_, err := store.Write(ctx, s, keyed(ann, "k", "a"), func(tx *store.Tx) (loci.Nothing, error) {
			if _, err := tx.Self(); err != nil {
				return loci.Nothing{}, err
			}
			return loci.Nothing{}, loci.Fail(loci.StateConflict)
		})
		if !loci.Is(err, loci.StateConflict) {
			t.Fatal(err)
		}
		again := keyed(ann, "k", "a")
		if _, err := tryAdd(s, again, "", "text"); err != nil || again.Once.Replayed {
			t.Errorf("%v, replayed %v", err, again.Once.Replayed)
		}
	})
}

func TestAccessIsCheckedBeforeAReplay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew := team(t, s, ann, map[*loci.Actor]loci.Role{bob: loci.Member})
		add(t, s, keyed(bob, "k", "a"), crew, "text")
		if _, err := tryAdd(s, keyed(bob, "k", "a"), crew, "text"); err != nil {
			t.Fatal(err)
		}
		narrowed := keyed(bob, "k", "a")
		narrowed.Granted = []string{}
		if _, err := tryAdd(s, narrowed, crew, "text"); !loci.Is(err, loci.NotFound) {
			t.Errorf("a narrowed token is told %v", err)
		}
		d.Exec(t, "DELETE FROM members WHERE role = 'member'")
		for _, arguments := range []string{"a", "b"} {
			if m, err := tryAdd(s, keyed(bob, "k", arguments), crew, "text"); !loci.Is(err, loci.NotFound) || m.WorkspaceID != "" {
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
			made, replays := map[string]int{}, 0
			for i := range 16 {
				all.Go(func() {
					who := keyed(ann, key, "a")
					m, err := tryAdd(stores[i%2], who, crew, "text "+key)
					mu.Lock()
					defer mu.Unlock()
					if made[m.ID]++; err != nil {
						t.Error(err)
					}
					if who.Once.Replayed {
						replays++
					}
				})
			}
			all.Wait()
			if len(made) != 1 || replays != 15 {
				t.Errorf("%d memories, %d replays", len(made), replays)
			}
		}
		if n := len(ids(t, stores[1], ann, store.Filter{WorkspaceID: crew}, 100)); n != 3 {
			t.Errorf("%d memories, want 3", n)
		}
	})
}

func TestStoredAnswersAreSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		_, err := store.Write(ctx, s, keyed(ann, "k", "a"), func(tx *store.Tx) (map[string]string, error) {
			_, err := tx.Self()
			return map[string]string{"key": "loci_plainly_secret"}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range d.Query(t, "SELECT answer FROM onces") {
			if len(answer) < 20 || strings.Contains(answer, "secret") || strings.Contains(answer, "key") {
				t.Errorf("the column holds %q", answer)
			}
		}
		if d.Dir != "" {
			for _, name := range []string{"loci.db", "loci.db-wal"} {
				if b, err := os.ReadFile(filepath.Join(d.Dir, name)); err != nil || bytes.Contains(b, []byte("plainly_secret")) {
					t.Errorf("%s shows the answer (%v)", name, err)
				}
			}
		}
		other := keyed(ann, "k", "a")
		other.Once.Seal[0]++
		if out, err := store.Write(ctx, s, other, func(tx *store.Tx) (map[string]string, error) { _, err := tx.Self(); return nil, err }); err == nil {
			t.Errorf("another credential opens it: %v", out)
		}
	})
}

func TestLongStoredAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		long := strings.Repeat("\u0001", 260_000)
		answer := func(text string) (map[string]string, error) {
			return store.Write(ctx, s, keyed(ann, "k", "a"), func(tx *store.Tx) (map[string]string, error) {
				_, err := tx.Self()
				return map[string]string{"text": text}, err
			})
		}
		first, err := answer(long)
		if err != nil {
			t.Fatal(err)
		}
		if n := d.Query(t, "SELECT length(answer) FROM onces")[0]; len(n) > 5 {
			t.Errorf("%s bytes are stored", n)
		}
		if again, err := answer("is not asked for"); err != nil || again["text"] != first["text"] {
			t.Errorf("%d characters are answered again: %v", len(again["text"]), err)
		}
	})
}

func TestAKeyWithoutAHandleIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		if _, err := store.Write(ctx, s, keyed(ann, "k", "a"), func(tx *store.Tx) (loci.User, error) { return tx.Me() }); err == nil {
			t.Error("a write that nothing repeats safely went through with a key")
		}
	})
}

func TestAReadWithAKeyIsReplayed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "first")
		search := func(who *loci.Actor) int {
			f, err := store.Read(ctx, s, who, func(tx *store.Tx) (store.Findings, error) {
				return tx.Find(store.Question{Words: search.Parse("first")}, store.Filter{}, "", 10)
			})
			if err != nil {
				t.Fatal(err)
			}
			return f.Total
		}
		search(keyed(ann, "k", "a"))
		add(t, s, ann, "", "another first")
		again := keyed(ann, "k", "a")
		if n := search(again); n != 1 || !again.Once.Replayed {
			t.Errorf("%d found, replayed %v", n, again.Once.Replayed)
		}
		if n := search(ann); n != 2 {
			t.Errorf("%d found without the key", n)
		}
	})
}

func TestStoredAnswersAreForgottenAfterADay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var now stopped
		s := d.Open(t, store.Options{Clock: now.time})
		add(t, s, keyed(user(t, s, "ann"), "k", "a"), "", "text")
		for _, want := range []int64{0, 1, 0} {
			n, err := store.System(ctx, s, "test", func(x *store.SystemTx) (int64, error) { return x.DropOnces() })
			if err != nil || n != want {
				t.Errorf("%d dropped, want %d (%v)", n, want, err)
			}
			now.add(24*time.Hour + time.Millisecond)
		}
	})
}
