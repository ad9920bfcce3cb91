package integrity_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/internal/waittest"
)

// traceWords are parts of words that only purged records hold. They are from titles, texts, tags, sources and evidence,
// and from terms of the keyword index. The first letters are left out, because the index writes what two terms share
// once.
var traceWords = []string{"mbrosial", "lummoxite", "ozzlewump", "uinceberr", "ibbernack", "ickerdoodle",
	"Größenwahnsinn", "ssenwahnsin", "東西南北", "東西", "irlimagig", "ankerblossom"}

// remainingTraces returns the traces that the files of an SQLite database, or the tables of a PostgreSQL database,
// still hold.
func remainingTraces(t *testing.T, d storetest.Database) (found []string) {
	t.Helper()
	look := func(where string, data []byte) {
		for _, trace := range traceWords {
			if bytes.Contains(data, []byte(trace)) || d.Dir == "" &&
				bytes.Contains(data, []byte(hex.EncodeToString([]byte(trace)))) {
				found = append(found, where+" holds "+trace)
			}
		}
	}
	if d.Dir == "" {
		for _, table := range d.Query(t,
			`SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`) {
			look(table, []byte(strings.Join(d.Query(t, `SELECT CAST(x AS TEXT) FROM `+table+` x`), "\n")))
			look("statistics of "+table, []byte(strings.Join(d.Query(t,
				`SELECT concat(most_common_vals, histogram_bounds) FROM pg_stats
				WHERE schemaname = current_schema() AND tablename = '`+table+`'`), "\n")))
		}
		return found
	}
	files, err := filepath.Glob(filepath.Join(d.Dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data := testenv.Must(os.ReadFile(file))(t)
		look(filepath.Base(file), data)
	}
	return found
}

// withEncryptionKey makes the actor's next call one that can be repeated.
func withEncryptionKey(actor *identity.Actor, key string) *identity.Actor {
	again := *actor
	again.Idempotency = &identity.Idempotency{Key: key, Fingerprint: sha256.Sum256([]byte(key))}
	return &again
}

func supersede(t *testing.T, s *store.Store, actor *identity.Actor, old, by loci.ID) {
	t.Helper()
	testenv.Must(store.Write(ctx, s, actor, func(tx *store.Tx) (loci.Memory, error) {
		h, err := memorydb.Open(tx, old, store.ToMove)
		if err != nil {
			return loci.Memory{}, err
		}
		r, err := h.Replacement(by)
		if err != nil {
			return loci.Memory{}, err
		}
		return h.Supersede(r)
	}))(t)
}

func remove(t *testing.T, s *store.Store, actor *identity.Actor, id loci.ID) {
	t.Helper()
	testenv.Must(store.Write(ctx, s, actor, func(tx *store.Tx) (loci.Empty, error) {
		h, err := memorydb.Open(tx, id, store.InAnyState)
		if err != nil {
			return loci.Empty{}, err
		}
		return loci.Empty{}, h.Delete()
	}))(t)
}

// makeHistory writes a memory with words of its own. It adds versions with flushes and merges between them, links both
// ways, a stored response and a review.
func makeHistory(t *testing.T, d storetest.Database, s *store.Store, actor *identity.Actor,
	workspace loci.ID) (id loci.ID,
	others []loci.ID) {
	t.Helper()
	line := "lummoxites grow by the gozzlewumps, 東西南北 in all winds.\n\n"
	long := strings.Repeat(line, 400)
	note := func(i int) loci.ID {
		m := add(t, s, actor, workspace, fmt.Sprintf("Common note number %d about deploys", i))
		others = append(others, m.ID)
		return m.ID
	}
	first, after := note(0), note(1)
	flush(t, s, record(t, s, actor, first).WorkspaceID)
	m := add(t, s, withEncryptionKey(actor, "create"), workspace, "Umbrosially said\n\n"+long, func(m *loci.Memory) {
		m.Title, m.Tags = "Größenwahnsinn 東西", []string{"dibbernacks", "plain"}
		m.Source = &loci.Source{Name: "notes", URI: "file:///snickerdoodles.md"}
	})
	at := m.WorkspaceID
	flush(t, s, at)
	set(t, s, actor, m.ID, func(m *loci.Memory) { m.Content += "\nA line of quinceberries." })
	set(t, s, actor, m.ID, func(m *loci.Memory) {
		m.Content = "Short, with quinceberries and a lummoxite"
	})
	for i := range 9 { // enough segments for a merge
		note(i + 2)
		set(t, s, withEncryptionKey(actor, fmt.Sprint("set", i)), m.ID, func(m *loci.Memory) {
			m.Content = fmt.Sprintf("%d of quinceberries\n%s", i, long[i*len(line):])
		})
		flush(t, s, at)
	}
	review(t, s, actor, m.ID, func(m *loci.Memory) { m.Evidence, m.ValidUntil = "whirlimagigs were seen", 99 })
	before := add(t, s, actor, workspace, "A Clankerblossom was deleted before, with lummoxites")
	flush(t, s, at)
	remove(t, s, actor, before.ID)
	if d.Dir == "" { // samples of the columns, which PostgreSQL takes by itself at some time
		for _, table := range []string{"memories", "versions", "index_log", "segments", "segment_pages"} {
			d.Exec(t, `ANALYZE `+table)
		}
	}
	supersede(t, s, actor, first, m.ID)
	supersede(t, s, actor, m.ID, after)
	review(t, s, actor, m.ID, func(*loci.Memory) {}) // in the log
	return m.ID, others
}

func record(t *testing.T, s *store.Store, actor *identity.Actor, id loci.ID) loci.Memory {
	t.Helper()
	m := testenv.Must(store.Read(ctx, s, actor,
		func(tx *store.Tx) (loci.Memory, error) { return memorydb.Record(tx, id) }))(t)
	return m
}

// onPurge opens a database twice, as by a server and its operator's command.
func onPurge(t *testing.T, f func(t *testing.T, d storetest.Database, server, operator *store.Store)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		server, operator := d.Open(t, store.Options{}), d.Open(t, store.Options{})
		f(t, d, server, operator)
		if t.Failed() {
			return
		}
		if found := remainingTraces(t, d); len(found) > 0 {
			t.Error("while the server runs: ", found)
		}
		for _, s := range []*store.Store{operator, server} {
			testenv.NoError(t, s.Close())
		}
		if found := remainingTraces(t, d); len(found) > 0 {
			t.Error("after the end: ", found)
		}
	})
}

func TestPurgedMemoryLeavesNoByte(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		ann, bob := user(t, server, "ann"), user(t, server, "bob")
		crew := team(t, server, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		id, others := makeHistory(t, d, server, ann, crew)
		before := strings.Join(remainingTraces(t, d), "; ")
		for _, trace := range traceWords {
			testenv.Contains(t, before, " holds "+trace, "the test does not find", trace, "even before")
		}
		would := testenv.Must(purge.New(operator).PurgeMemory(ctx, id, false))(t)
		testenv.Equal(t, record(t, server, ann, id).ID, id, "a look has purged")
		did, err := purge.New(operator).PurgeMemory(ctx, id, true)
		if err != nil || did != would || did.Memories != 1 || did.Versions != 14 || did.Responses != 10 {
			t.Errorf("purged %+v, of %+v, %v", did, would, err)
		}
		if r := searchKeywords(t, server, ann, "lummoxites quinceberries", loci.MemoryFilter{}); len(r.Hits) > 0 {
			t.Errorf("the server finds %d memories by words that are gone", len(r.Hits))
		}
		testenv.Len(t, searchKeywords(t, server, bob, "deploys",
			loci.MemoryFilter{Include: []loci.Include{loci.IncludeSuperseded}}).Hits, len(others), "the server finds",
			"others")
		testenv.Len(t, ids(t, server, ann, loci.MemoryFilter{Include: []loci.Include{loci.IncludeSuperseded}}, 100),
			len(others), "memories are left")
		if old, by := record(t, server, ann, others[0]), record(t, server, ann, others[1]); old.SupersededBy != "" ||
			len(by.Supersedes) != 0 {
			t.Errorf("links are left: %q, %q", old.SupersededBy, by.Supersedes)
		}
		checkCounters(t, server, ann, crew, others)
		if _, err := purge.New(operator).PurgeMemory(ctx, id, true); !loci.Is(err, loci.CodeNotFound) {
			t.Error("purged twice: ", err)
		}
	})
}

// A purgeKey marks the context of a purge.
type purgeKey struct{}

// A purgeSignalDB closes began when a purge begins its first write, after it has read what to erase.
type purgeSignalDB struct {
	sqldb.DB
	began func()
}

func (d *purgeSignalDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	if ctx.Value(purgeKey{}) != nil {
		d.began()
	}
	return d.DB.Write(ctx, user, f)
}

func (d *purgeSignalDB) Vacuum(ctx context.Context) error {
	return d.DB.(interface{ Vacuum(context.Context) error }).Vacuum(ctx)
}

// While a purge waits for a memory, its list of superseded ones gets another.
func TestPurgeKeepsALinkThatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		began, purged := make(chan bool), make(chan error, 1)
		signal := &purgeSignalDB{began: sync.OnceFunc(func() { close(began) })}
		s := d.Open(t, store.Options{})
		operator := d.Open(t, store.Options{Intercept: storetest.Intercept(signal, &signal.DB)})
		ann := user(t, s, "ann")
		old, other, by := add(t, s, ann, "", "old").ID, add(t, s, ann, "", "other").ID, add(t, s, ann, "", "by").ID
		supersede(t, s, ann, old, by)
		err := writeRaw(s, func(exec func(q string, args ...any) error) error {
			err := exec(`UPDATE memories SET supersedes = ?1 WHERE id = ?2`,
				sqldb.EncodeStrings([]loci.ID{old, other}), by)
			go func() {
				_, err := purge.New(operator).PurgeMemory(context.WithValue(ctx, purgeKey{}, true), old, true)
				purged <- err
			}()
			select {
			case <-began:
			case failed := <-purged:
				purged <- failed
			}
			if d.Address != "" { // a write of SQLite has the database for itself
				waittest.Until(t, func() bool {
					return d.Query(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
						AND wait_event_type = 'Lock'`)[0] != "0"
				})
			}
			if len(purged) > 0 {
				t.Error("the purge ended before the writer")
			}
			return err
		})
		if err = errors.Join(err, <-purged); err != nil {
			t.Fatal(err)
		}
		testenv.EqualSlices(t, record(t, s, ann, by).Supersedes, []loci.ID{other}, "it supersedes")
	})
}

// checkCounters compares the counters of the actor's places with the memories there.
func checkCounters(t *testing.T, s *store.Store, actor *identity.Actor, workspace loci.ID, memories []loci.ID) {
	t.Helper()
	size := int64(0)
	for _, id := range memories {
		size += int64(len(record(t, s, actor, id).Content))
	}
	u, err := store.Read(ctx, s, actor, func(tx *store.Tx) (loci.AccountStatus, error) { return tx.Usage() })
	if err != nil || u.Usage.Memories != int64(len(memories)) || u.Usage.Storage.UsedBytes != size {
		t.Errorf("%d memories of %d bytes are counted as %+v, %v", len(memories), size, u.Usage, err)
	}
}

func TestPurgedWorkspaceLeavesNoByte(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		ann, bob := user(t, server, "ann"), user(t, server, "bob")
		crew, other := team(t, server, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember}),
			team(t, server, ann, nil)
		_, others := makeHistory(t, d, server, ann, crew)
		kept := add(t, server, ann, other, "This one stays, about deploys")
		did, err := purge.New(operator).PurgeWorkspace(ctx, crew, true)
		if err != nil || did.Workspaces != 1 || did.Atlases != 1 || did.Memories != int64(len(others)+1) ||
			did.Memberships != 2 || did.Invitations != 1 || did.Users != 0 {
			t.Errorf("purged %+v, %v", did, err)
		}
		testenv.EqualSlices(t, ids(t, server, ann, loci.MemoryFilter{}, 100), []loci.ID{kept.ID}, "are left")
		testenv.Len(t, searchKeywords(t, server, ann, "deploys", loci.MemoryFilter{}).Hits, 1, "memories are found")
		checkCounters(t, server, ann, other, []loci.ID{kept.ID})
		for _, table := range []string{"minhash_bands", "versions", "index_log"} {
			testenv.Equal(t, d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM `+table)[0],
				map[string]string{"minhash_bands": "4", "versions": "0", "index_log": "1"}[table], "rows are left in",
				table)
		}
		if _, err := purge.New(operator).PurgeWorkspace(ctx, record(t, server, bob,
			add(t, server, bob, "", "mine").ID).WorkspaceID, true); !loci.Is(err, loci.CodeStateConflict) {
			t.Error("a personal workspace was purged: ", err)
		}
	})
}

func TestPurgedUserLeavesNoByte(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		gone, bob := user(t, server, "blankerblossom"), user(t, server, "bob")
		crew := team(t, server, bob, map[*identity.Actor]loci.Role{gone: loci.RoleAdmin})
		makeHistory(t, d, server, gone, "")
		shared := add(t, server, gone, crew, "A note that stays in the crew")
		testenv.Must(store.System(ctx, server, "test", func(x *store.SystemTx) (loci.APIKey, error) {
			return x.AddKey(gone.UserID, accountdb.NewKey{Name: "laptop", Prefix: "prefix", Hash: []byte("hash")})
		}))(t)
		asked := loci.CreateInvitations{WorkspaceID: team(t, server, bob, nil),
			Emails: loci.Emails{"BLANKERBLOSSOM@example.com"}}
		if out, err := newService(server).CreateInvitations(ctx, withEncryptionKey(bob, "invite"), asked); err != nil ||
			len(out.Invitations) != 1 {
			t.Fatal(out, err)
		}
		own := team(t, server, gone, nil)
		if _, err := purge.New(operator).PurgeUser(ctx, "Blankerblossom@example.com",
			true); !loci.Is(err, loci.CodeStateConflict) || !strings.Contains(err.Error(), string(own)) {
			t.Error("an owner of a team was purged: ", err)
		}
		testenv.Must(purge.New(operator).PurgeWorkspace(ctx, own, true))(t)
		did, err := purge.New(operator).PurgeUser(ctx, "Blankerblossom@example.com", true)
		if err != nil || did.Users != 1 || did.Workspaces != 1 || did.Memberships != 2 || did.Invitations != 2 ||
			did.Keys != 1 {
			t.Errorf("purged %+v, %v", did, err)
		}
		testenv.Len(t, d.Query(t, `SELECT key FROM idempotency_keys WHERE owner = (SELECT row_id FROM users
			WHERE id = '`+string(bob.UserID)+`')`), 0, "a stored response holds the link of an invitation to the address")
		testenv.Equal(t, record(t, server, bob, shared.ID).CreatedBy, gone.UserID, "what was written for others is by")
		if _, err := tryAdd(server, gone, "", "Back again"); !loci.Is(err, loci.CodeNotFound) {
			t.Error("one who is gone writes: ", err)
		}
		if _, err := newService(server).CreateKey(ctx, gone, loci.CreateKey{}); !loci.Is(err, loci.CodeRevoked) {
			t.Error("one who is gone gets a key: ", err)
		}
		if _, err := newService(server).CreateWorkspace(ctx, gone, loci.CreateWorkspace{Name: "Den"}); !loci.Is(err,
			loci.CodeNotFound) {
			t.Error("one who is gone makes a workspace: ", err)
		}
		if _, err := purge.New(operator).PurgeUser(ctx, "nobody@example.com", true); !loci.Is(err,
			loci.CodeNotFound) {
			t.Error(err)
		}
	})
}

// The next purge finishes one that was interrupted after its commit, even if no row is left to delete.
func TestPurgeThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", "lummoxite")
		d.Exec(t, `INSERT INTO metadata (name, value) VALUES ('purge', 'unfinished')`)
		d.Exec(t, `DELETE FROM memories`)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := purge.New(s).PurgeMemory(ended, m.ID, true); err == nil {
			t.Error("a call that was cancelled purges")
		}
		if did, err := purge.New(s).PurgeMemory(ctx, m.ID, true); err != nil || did != (purge.Result{}) {
			t.Errorf("purged %+v, %v", did, err)
		}
		if _, err := purge.New(s).PurgeMemory(ctx, m.ID, true); !loci.Is(err, loci.CodeNotFound) {
			t.Error("there was nothing left to finish: ", err)
		}
	})
}

func TestPurgeDeletesVectors(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		ann := user(t, s, "ann")
		const before, after = "lummoxite ozzlewump quincebarrow", "lummoxite gibbernack snickerdoodle"
		a := add(t, s, ann, "", before, func(m *loci.Memory) { m.Title = "T" })
		b := add(t, s, ann, "", "another one", func(m *loci.Memory) { m.Title = "T" })
		waitForEmbeddings(t, s)
		changeContent(t, s, ann, a.ID, after)
		waitForEmbeddings(t, s)
		testenv.RequireEqual(t, d.Query(t, `SELECT count(*) FROM vectors`)[0], "3",
			"vectors are stored, with that of the text before")
		testenv.Must(purge.New(s).PurgeMemory(ctx, a.ID, true))(t)
		testenv.Equal(t, d.Query(t, `SELECT count(*) FROM vectors`)[0], "1", "vectors are left")
		// A search whose codes are of before finds what is left.
		f, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
			return storetest.Search(tx, retrieve.Query{Embeddings: []retrieve.Embedding{{Generation: "one",
				Vector: storetest.VectorOf("T\n" + after)}}}, loci.MemoryFilter{}, "", 5)
		})
		if err != nil || len(f.Hits) != 1 || f.Hits[0].Memory.ID != b.ID {
			t.Errorf("found %v, %v", f.Hits, err)
		}
		if d.Dir == "" {
			return
		}
		files, err := filepath.Glob(filepath.Join(d.Dir, "*"))
		if err != nil || len(files) < 2 {
			t.Fatal(files, err)
		}
		for _, text := range []string{before, after} {
			vector := vector.Encode(storetest.VectorOf("T\n" + text))
			for _, file := range files {
				if data, err := os.ReadFile(file); err != nil || bytes.Contains(data, vector[4:]) {
					t.Errorf("%s holds the vector of %q: %v", filepath.Base(file), text, err)
				}
			}
		}
	})
}

// On SQLite nobody writes while a purge rewrites segments.
func TestPurgeRewritesOnlySegmentsOfTheMemory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{OneShot: true})
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", "the blue boat")
		remaining := add(t, s, ann, "", "the red bicycle")
		flush(t, s, m.WorkspaceID)
		set(t, s, ann, remaining.ID, func(m *loci.Memory) { m.Content = "the green bicycle" })
		purged := add(t, s, ann, "", "the yellow tram")
		flush(t, s, m.WorkspaceID)
		segments := func() []string { return d.Query(t, `SELECT row_id FROM segments ORDER BY row_id`) }
		before := segments()
		testenv.Must(purge.New(s).PurgeMemory(ctx, purged.ID, true))(t)
		if after := segments(); len(before) != 2 || len(after) != 2 || after[0] != before[0] || after[1] == before[1] {
			t.Errorf("the segments were %v and are %v", before, after)
		}
		checkHealthy(t, s)
	})
}
