package store_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

// onPostgres runs f on a fresh database of every PostgreSQL server.
func onPostgres(t *testing.T, f func(t *testing.T, d storetest.Database, s *store.Store)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if d.Address != "" {
			f(t, d, d.Open(t, store.Options{}))
		}
	})
}

func TestReadWithIdempotencyKeySeesOneSnapshot(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		ann := user(t, s, "ann")
		id := add(t, s, ann, "", "text").ID
		first, err := store.Read(ctx, s, withIdempotencyKey(ann, "k", "a"), func(tx *store.Tx) (loci.Memory, error) {
			first, err := memorydb.Record(tx, id)
			if err != nil {
				return first, err
			}
			set(t, s, ann, id, func(m *loci.Memory) { m.Content = "another text" })
			list, err := memorydb.Versions(tx, id, page.Request{Limit: 10})
			if err == nil && (len(list.Items) != 1 || list.Items[0].Content != "text") {
				t.Errorf("the versions after a concurrent update are %v", list.Items)
			}
			return first, err
		})
		if err != nil || first.Content != "text" {
			t.Errorf("got %v, %v", first, err)
		}
	})
}

func TestStoredResponseReplacesThatOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		ann := user(t, s, "ann")
		read := func(name string, during func()) map[string]bool {
			t.Helper()
			out, err := store.Read(ctx, s, withIdempotencyKey(ann, "k", "a"),
				func(tx *store.Tx) (map[string]bool, error) {
					_, err := tx.Usage()
					during()
					return map[string]bool{name: true}, err
				})
			if err != nil {
				t.Error(err)
			}
			return out
		}
		attempts := 0
		got := read("second", func() {
			if attempts++; attempts == 1 { // the snapshot has begun
				read("first", func() {})
			}
		})
		if len(got) != 1 || !got["first"] || attempts != 2 {
			t.Errorf("got %v after %d attempts", got, attempts)
		}
	})
}

func TestDeadlocksAreTriedAgain(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		d.Exec(t, `INSERT INTO metadata (name, value) VALUES ('a', '0'), ('b', '0')`)
		var all, both sync.WaitGroup
		both.Add(2)
		attempts := [2]int{}
		for i, order := range [][]string{{"a", "b"}, {"b", "a"}} {
			all.Go(func() {
				err := store.WriteRaw(s, func(exec store.Exec) error {
					attempts[i]++
					add := `UPDATE metadata SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) WHERE name = ?1`
					if err := exec(add, order[0]); err != nil {
						return err
					}
					if attempts[i] == 1 {
						both.Done()
						both.Wait()
					}
					return exec(add, order[1])
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := d.Query(t, `SELECT value FROM metadata WHERE name IN ('a', 'b')`); !slices.Equal(got,
			[]string{"2", "2"}) || attempts[0]+attempts[1] < 3 {
			t.Errorf("%v after %v attempts", got, attempts)
		}
	})
}

func TestSerializationFailuresAreTriedThreeTimes(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		for _, c := range []struct {
			failures, attempts int
			code               loci.Code
		}{{0, 1, ""}, {3, 4, ""}, {4, 4, loci.CodeUnavailable}} {
			attempts := 0
			err := store.WriteRaw(s, func(exec store.Exec) error {
				attempts++
				if err := exec(`INSERT INTO metadata (name, value) VALUES (?1, '')`,
					fmt.Sprint("row of ", c.failures)); err != nil {
					return err
				}
				if attempts <= c.failures {
					return exec(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`)
				}
				return nil
			})
			if attempts != c.attempts || c.code == "" && err != nil || c.code != "" && !loci.Is(err, c.code) {
				t.Errorf("%d failures: %v after %d attempts", c.failures, err, attempts)
			}
		}
		if rows := d.Query(t, `SELECT name FROM metadata WHERE name LIKE 'row of %' ORDER BY name`); !slices.Equal(rows,
			[]string{"row of 0", "row of 3"}) {
			t.Errorf("there are %v", rows)
		}
	})
}

func TestWriteReplacesConnectionKilledBeforeCommit(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		for _, kills := range []int{1, 4} {
			attempts := 0
			err := store.WriteRaw(s, func(exec store.Exec) error {
				if err := exec(`INSERT INTO metadata (name, value) VALUES (?1, '')`,
					fmt.Sprint("row of ", kills)); err != nil {
					return err
				}
				if attempts++; attempts <= kills {
					return exec(`SELECT pg_terminate_backend(pg_backend_pid())`)
				}
				return nil
			})
			n := len(d.Query(t, fmt.Sprintf(`SELECT name FROM metadata WHERE name = 'row of %d'`, kills)))
			if kills == 1 && (err != nil || n != 1) || kills == 4 && (!loci.Is(err, loci.CodeUnavailable) || n != 0) {
				t.Errorf("%d kills: %v, %d rows", kills, err, n)
			}
		}
	})
}

// TestWriteSucceedsAfterRestart kills every connection of the pool at once, as a restart of PostgreSQL does.
func TestWriteSucceedsAfterRestart(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		named := d
		named.Address += "&application_name=restarted"
		s := named.Open(t, store.Options{})
		ann := user(t, s, "ann")
		db := d.DB(t)
		for connections := 0; connections < 8; { // more than a write has attempts
			var all sync.WaitGroup
			for i := range 40 {
				all.Go(func() {
					if _, err := tryAdd(s, ann, "", fmt.Sprint("note ", i)); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			const pool = ` FROM pg_stat_activity WHERE application_name = 'restarted' AND datname = current_database()`
			if err := db.QueryRow(`SELECT count(*)` + pool).Scan(&connections); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(`SELECT pg_terminate_backend(pid)` + pool); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tryAdd(s, ann, "", "afterwards"); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestResultsAreRightWhileConnectionsAreKilled(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		named := d
		named.Address += "&application_name=victim"
		s := named.Open(t, store.Options{})
		ann := user(t, s, "ann")
		db := d.DB(t)
		stop := make(chan bool)
		var killer, all sync.WaitGroup
		killer.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(15 * time.Millisecond):
					if _, err := db.Exec(
						`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'
							AND datname = current_database()
						AND pid IN (SELECT pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
							WHERE c.relnamespace = current_schema()::regnamespace)`); err != nil {
						t.Error(err)
					}
				}
			}
		})
		var mu sync.Mutex
		sure := map[string]bool{}
		refused := 0
		for w := range 4 {
			all.Go(func() {
				for i := range 32 {
					text := fmt.Sprint("note ", w, " ", i)
					_, err := tryAdd(s, ann, "", text)
					mu.Lock()
					switch {
					case err == nil:
						sure[text] = true
					case loci.Is(err, loci.CodeUnavailable):
						refused++
					default:
						t.Errorf("told %v", err)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		close(stop)
		killer.Wait()
		have := map[string]int{}
		for _, text := range d.Query(t, `SELECT content FROM memories`) {
			have[text]++
		}
		for text := range sure {
			if have[text] != 1 {
				t.Errorf("%s is there %d times", text, have[text])
			}
		}
		t.Logf("%d written, %d refused, %d in doubt", len(sure), refused, len(have)-len(sure))
		if len(have) > len(sure)+refused {
			t.Errorf("%d memories, %d acknowledged, %d refused", len(have), len(sure), refused)
		}
		if _, err := tryAdd(s, ann, "", "afterwards"); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestPanicReleasesItsConnection(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		ann := user(t, s, "ann")
		for range 40 { // more than there are connections
			func() {
				defer func() { recover() }()
				store.WriteRaw(s, func(exec store.Exec) error {
					exec(`INSERT INTO metadata (name, value) VALUES ('bad', '')`)
					panic("boom")
				})
			}()
			func() {
				defer func() { recover() }()
				store.Read(ctx, s, ann, func(tx *store.Tx) (loci.User, error) { panic("boom") })
			}()
		}
		if err := s.Ping(ctx); err != nil || len(d.Query(t, `SELECT name FROM metadata WHERE name = 'bad'`)) > 0 {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestOpenErrorOfMissingDatabaseHidesPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"postgres://loci:hunter2@127.0.0.1:1/loci",
		"postgres://loci:hunter2@127.0.0.1:port/loci"} {
		_, err := store.OpenPostgres(ctx, address, store.Options{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("told %v", err)
		}
	}
}

func TestFlushDoesNotWaitForWriters(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", "first")
		entered, free := make(chan bool), make(chan bool)
		var writer, manager sync.WaitGroup
		writer.Go(func() {
			if _, err := store.Write(ctx, s, ann, func(tx *store.Tx) (loci.Empty, error) {
				_, err := tx.RoutingTargets("")
				close(entered)
				<-free
				return loci.Empty{}, err
			}); err != nil {
				t.Error(err)
			}
		})
		<-entered
		if err := s.Flush(ctx, m.WorkspaceID); err != nil { // the writer goes on when it has returned
			t.Errorf("the fold: %v", err)
		}
		if n := d.Query(t, `SELECT memories FROM atlases WHERE inbox`); !slices.Equal(n, []string{"1"}) {
			t.Errorf("the atlas counts %v", n)
		}
		got := make(chan bool, 1)
		manager.Go(func() {
			store.Write(ctx, s, ann, func(tx *store.Tx) (loci.Empty, error) {
				_, err := tx.Atlas(m.AtlasID, loci.RoleAdmin, store.ToChange)
				got <- true
				return loci.Empty{}, err
			})
		})
		waittest.Until(t, func() bool {
			return len(got) > 0 || d.Query(t, `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock'`)[0] != "0"
		})
		if len(got) > 0 {
			t.Error("a manager changes what somebody adds to")
		}
		close(free)
		writer.Wait()
		manager.Wait()
	})
}

func TestAddressesWithSettingsOfThePoolWorkForCommands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"LOCI_TEST_PG15", "LOCI_TEST_PG18"} {
		if address := os.Getenv(name); address != "" {
			if _, err := postgres.HasTables(t.Context(), address+"&pool_max_conns=2"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestDatabaseHasTablesOnceOpened(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t)
	has := func() bool {
		t.Helper()
		has, err := postgres.HasTables(t.Context(), d.Address)
		if err != nil {
			t.Error(err)
		}
		return has
	}
	for range 2 { // to look changes nothing
		if has() {
			t.Error("a new database has tables")
		}
	}
	opened, err := store.OpenPostgres(t.Context(), d.Address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	if !has() {
		t.Error("a database that was opened has no tables")
	}
	if _, err := postgres.HasTables(t.Context(),
		"postgres://loci:hunter2@127.0.0.1:1/loci"); !loci.Is(err, loci.CodeUnavailable) ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("told %v", err)
	}
}

func TestRepeatedResponseToAnInvitationIsAConflict(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew := team(t, s, ann, nil)
		token := []byte("the hash of a token")
		i, err := store.Write(ctx, s, ann, func(tx *store.Tx) (loci.Invitation, error) {
			w, err := tx.Workspace(crew, loci.RoleAdmin, store.ToChange)
			if err != nil {
				return loci.Invitation{}, err
			}
			i, _, err := w.Invite(loci.Email(bob.Email), loci.RoleMember, time.Hour, token)
			return i, err
		})
		if err != nil {
			t.Fatal(err)
		}
		d.Exec(t, `UPDATE users SET verified = FALSE WHERE id = '`+string(bob.UserID)+`'`)
		respond := func(during func()) error {
			_, err := store.Write(ctx, s, bob, func(tx *store.Tx) (loci.Invitation, error) {
				in, err := tx.IncomingInvitation(i.ID, token)
				if err != nil {
					return loci.Invitation{}, err
				}
				during()
				return in.Respond(true)
			})
			return err
		}
		second := make(chan error, 1)
		err = respond(func() {
			go func() { second <- respond(func() {}) }()
			waittest.Until(t, func() bool {
				return d.Query(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
					AND wait_event_type = 'Lock' AND query LIKE '%invitations i%'`)[0] != "0"
			})
		})
		if again := <-second; err != nil || !loci.Is(again, loci.CodeStateConflict) {
			t.Errorf("the responses are %v and %v", err, again)
		}
	})
}
