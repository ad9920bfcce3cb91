package store_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// A forgotten number would leave every existing database without the new columns.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	for n, name := range store.Migrations(t) {
		if !strings.HasPrefix(name, fmt.Sprintf("%05d_", n+1)) {
			t.Errorf("%s is migration %d: begin its name with five digits and an underscore", name, n+1)
		}
	}
	if newest := len(store.Migrations(t)); store.SchemaVersion() != int64(newest) {
		t.Errorf("the newest migration is %d, the schema %d", newest, store.SchemaVersion())
	}
}

// createInitialSchema migrates an empty database to schema 1 and fills it as a program of that schema did. Of two
// users, ann has a memory with a former version and a vector.
func createInitialSchema(t *testing.T, d storetest.Database) *identity.Actor {
	t.Helper()
	db := d.DB(t)
	store.MigrateTo(t, db, 1)
	exec := func(q string, args ...any) {
		t.Helper()
		if _, err := db.Exec(q, args...); err != nil {
			t.Fatal(err)
		}
	}
	m := loci.Memory{ID: "old", Title: "Kept", Content: "Kept from a schema of long ago", Type: loci.MemoryTypeAt(0),
		Tags: []string{}, Status: loci.MemoryActive, Version: 2, CreatedBy: "ann", CreatedAt: 6, UpdatedAt: 6}
	given := m
	given.ID, given.Title, given.Content, given.Version, given.CreatedAt = "given", "Mine", "Untouched", 1, 5
	for n, name := range []string{"ann", "bob"} {
		exec(`INSERT INTO users (id, email, email_folded, name, password, verified, plan, pro_until,
				created_at, updated_at)
			VALUES ($1, $2, $2, $1, '', TRUE, '', 0, 5, 5)`, name, name+"@example.com")
		exec(`INSERT INTO workspaces (id, name, personal_of, archived, secrets, created_at, updated_at)
			VALUES ($1, 'Personal', $2, FALSE, 'refuse', 5, 5)`, "home of "+name, name)
		exec(`INSERT INTO members (user_id, workspace, role, joined_at) VALUES ($1, $2, 'owner', 5)`, name, n+1)
		exec(`INSERT INTO keyword_indexes (workspace, version, analyzer) VALUES ($1, 0, 0)`, n+1)
		exec(`INSERT INTO atlases (id, workspace, name, keywords, description, inbox, archived, memories, bytes,
				created_at, updated_at)
			VALUES ($1, $2, 'Inbox', '[]', '', TRUE, FALSE, $3, $4, 5, 5)`, "inbox of "+name, n+1, 2*(1-n),
			(1-n)*len(m.Content+given.Content))
	}
	for i, m := range []loci.Memory{m, given} {
		sum := []int64{8364485970182135226, -4478798942054035686}[i]
		exec(`INSERT INTO memories (id, workspace, atlas, title, content, hash, checksum, type, status, tags,
				source_name, source_uri, source_group, version, created_by, updated_by, created_at, updated_at)
			VALUES ($1, 1, 1, $2, $3, $4, $5, 0, 0, '[]', '', '', '', $6, 'ann', 'ann', $7, 6)`, m.ID, m.Title,
			m.Content, memorydb.ContentHash(m.Content), sum, m.Version, int64(m.CreatedAt))
	}
	exec(`INSERT INTO versions (memory, version, title, prefix_len, checksum, type, tags, status, verified_at,
			verified_by, evidence, valid_until, created_by, created_at)
		VALUES (1, 1, 'Kept', 4, $1, 0, '[]', 0, 0, '', '', 0, 'ann', 6)`, int64(-3802066780258404824))
	exec(`INSERT INTO generations (name) VALUES ('old model')`)
	exec(`INSERT INTO vectors (workspace, memory, generation, text_hash, chunk, seq, vector, checksum)
		VALUES (1, 1, 1, 7, 0, 1, $1, $2)`, []byte("vector"), int64(4473471066056310896))
	return &identity.Actor{UserID: "ann", Email: "ann@example.com", CredentialKind: identity.CredentialKey,
		CredentialID: loci.NewID(time.Now())}
}

// checkTitlesOfInitialSchema checks that a title from before its flag was stored follows the content if it is the first
// line of the content of its version or of the first version.
func checkTitlesOfInitialSchema(t *testing.T, s *store.Store, ann *identity.Actor) {
	t.Helper()
	for _, v := range versionsOf(t, s, ann, "old") {
		want := "Kept"
		if v.Version == 4 {
			want = v.Content
		}
		if v.Title != want || !v.TitleDerived {
			t.Errorf("version %d has the title %q, derived: %t", v.Version, v.Title, v.TitleDerived)
		}
	}
	api := newService(s)
	content := loci.Content("# Changed\nagain")
	for id, want := range map[loci.ID]string{"old": "Changed", "given": "Mine"} {
		in := loci.UpdateMemory{MemoryID: id, Content: &content}
		m := must[loci.OneMemory](t)(api.UpdateMemory(ctx, ann, in)).Memory
		if m.Title != want || m.TitleDerived != (id == "old") {
			t.Errorf("%s: the title is %q, derived: %t", id, m.Title, m.TitleDerived)
		}
	}
}

// The migration after the newest one: a column that every row gets, and a table.
const nextMigration = `ALTER TABLE memories ADD COLUMN next BIGINT NOT NULL DEFAULT 7;
CREATE TABLE next_table (name TEXT NOT NULL PRIMARY KEY);
`

func TestInitialSchemaIsUpgraded(t *testing.T) {
	t.Parallel()
	options := store.Options{Embedder: &storetest.FakeEmbedder{Name: "new"}}
	for name, o := range map[string]store.Options{
		"to the newest schema": options,
		"by a next migration":  store.WithNextMigrations(t, options, nextMigration),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.EachEmpty(t, func(t *testing.T, d storetest.Database) {
				ann := createInitialSchema(t, d)
				s := d.Open(t, o)
				fresh := storetest.Database{Engine: d.Engine, Dir: t.TempDir()}
				if d.Address != "" {
					fresh = storetest.NewPostgresSchema(t, d.Engine)
				}
				fresh.Open(t, o)
				have, want := schema(t, d), schema(t, fresh)
				if !slices.Equal(have, want) {
					t.Errorf("the schema is %q, not %q", have, want)
				}
				if next := slices.Contains(have, "table next_table"); next != (name == "by a next migration") {
					t.Errorf("the table of the next migration exists: %v", next)
				}
				checkIntegrity(t, s, true) // the memory has no bands of near duplicates
				must[loci.OneMemory](t)(newService(s).UpdateMemory(ctx, ann,
					loci.UpdateMemory{MemoryID: "old", Tags: &loci.Tags{"old"}}))
				checkHealthy(t, s) // its title is still that of its first text
				set(t, s, ann, "old", func(m *loci.Memory) { m.Content += ", and changed" })
				m := add(t, s, ann, "", "New in a schema of today")
				if list := ids(t, s, ann, loci.MemoryFilter{}, 10); !slices.Equal(list, []loci.ID{m.ID, "old",
					"given"}) {
					t.Errorf("listed %q", list)
				}
				if r := searchKeywords(t, s, ann, "schema long ago changed", loci.MemoryFilter{}); len(r.Hits) != 2 ||
					r.Hits[0].Memory.ID != "old" {
					t.Errorf("found %v", r.Hits)
				}
				if list := versionsOf(t, s, ann, "old"); len(list) != 4 {
					t.Errorf("versions %v", list)
				}
				checkTitlesOfInitialSchema(t, s, ann)
				checkHealthy(t, s)
				s.Close()
				if again := d.Open(t, o); len(ids(t, again, ann, loci.MemoryFilter{}, 10)) != 3 {
					t.Error("something is lost after the second start")
				}
			})
		})
	}
}

// Damage of a former schema is not proved right by the checksums of the next one, also if an upgrade was killed between
// the two.
func TestUpgradeKeepsDamageVisible(t *testing.T) {
	t.Parallel()
	for _, reached := range []int64{1, 2, 3} {
		storetest.EachEmpty(t, func(t *testing.T, d storetest.Database) { checkDamageOfFormerSchema(t, d, reached) })
	}
}

func checkDamageOfFormerSchema(t *testing.T, d storetest.Database, reached int64) {
	t.Helper()
	createInitialSchema(t, d)
	for _, q := range []string{`UPDATE memories SET title = 'Damaged' WHERE id = 'given'`,
		`UPDATE versions SET evidence = 'damaged'`, `UPDATE vectors SET chunk = 1`,
		`INSERT INTO metadata (name, value) VALUES ('damaged memories 1', '')`} { // of an upgrade that failed
		d.Exec(t, q)
	}
	store.MigrateTo(t, d.DB(t), reached)
	s := d.Open(t, store.Options{})
	var found []string
	for _, f := range storetest.CheckIntegrity(t, s, false).Inconsistencies {
		if strings.Contains(f.Detail, "checksum") {
			found = append(found, f.Kind+" "+f.ID)
		}
	}
	testenv.EqualSlices(t, found, []string{"rows given", "versions old"}, "damaged rows")
	damaged := sqldb.ChecksumTables()["vectors"].DamageCondition(s.DB().Dialect(), "v")
	testenv.Len(t, d.Query(t, `SELECT v.memory FROM vectors v WHERE`+damaged), 1, "damaged vectors")
	testenv.Len(t, d.Query(t, `SELECT name FROM metadata WHERE name LIKE 'damaged%'`), 0, "marks")
}

// Commands that only look at a database must not change it under a server of an earlier version.
func TestFormerSchemaIsKeptWhenAsked(t *testing.T) {
	t.Parallel()
	keep := store.WithNextMigrations(t, store.Options{KeepSchema: true}, nextMigration)
	upgrade := keep
	upgrade.KeepSchema = false
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		latest := store.SchemaVersion()
		d.Open(t, store.Options{}).Close()
		before := schema(t, d)
		_, err := d.TryOpen(keep)
		if !loci.Is(err, loci.CodeConflict) || !strings.Contains(err.Error(), fmt.Sprint("schema ", latest)) ||
			!strings.Contains(err.Error(), "loci admin migrate") {
			t.Errorf("got %v", err)
		}
		if after := schema(t, d); !slices.Equal(before, after) {
			t.Errorf("the schema is %q now", after)
		}
		d.Open(t, upgrade).Close()
		d.Open(t, keep).Close()
		if have, err := d.SchemaStatus(ctx); err != nil || have.Current != latest+1 || len(have.Pending) > 0 {
			t.Errorf("%+v, %v", have, err)
		}
		if _, err = d.TryOpen(store.Options{}); err == nil || !strings.Contains(err.Error(), "newer loci") {
			t.Errorf("a program without the migration got %v", err)
		}
	})
	storetest.EachEmpty(t, func(t *testing.T, d storetest.Database) {
		have, err := d.SchemaStatus(ctx)
		if d.Dir != "" { // no file yet
			d.Dir += "/new"
		} else if names := store.Migrations(t); err != nil || have.Current != 0 ||
			have.Latest != store.SchemaVersion() || len(have.Pending) != len(names) ||
			have.Pending[0]+".sql" != names[0] {
			t.Errorf("%+v, %v", have, err)
		}
		d.Open(t, store.Options{KeepSchema: true})
		if have, err := d.SchemaStatus(ctx); err != nil || have.Current != have.Latest || len(have.Pending) > 0 {
			t.Errorf("%+v, %v", have, err)
		}
	})
}

var timeouts = []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"}

// setShortTimeouts sets the timeouts of the database to a second.
func setShortTimeouts(t *testing.T, d storetest.Database) {
	t.Helper()
	for _, name := range timeouts {
		d.Exec(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET `+name+` = 1000', current_database()); END $$`)
	}
}

// withoutTimeouts returns the database with sessions that have no timeouts.
func withoutTimeouts(d storetest.Database) storetest.Database {
	for _, name := range timeouts {
		d.Address += "&" + name + "=0"
	}
	return d
}

// upgradeDespiteLock holds a lock on the database for longer than the timeouts of hasty, and migrates hasty.
func upgradeDespiteLock(t *testing.T, d, hasty storetest.Database, lock string) {
	t.Helper()
	next := store.WithNextMigrations(t, store.Options{}, nextMigration)
	d.Open(t, store.Options{}).Close()
	tx := testenv.Must(d.DB(t).Begin())(t)
	testenv.Must(tx.Exec(lock))(t)
	free := time.AfterFunc(2500*time.Millisecond, func() { tx.Rollback() })
	defer free.Stop()
	began := time.Now()
	s, err := hasty.TryOpen(store.WithBusyTimeout(next, 200*time.Millisecond))
	if err != nil || time.Since(began) < 2*time.Second {
		t.Fatalf("%v after %v", err, time.Since(began))
	}
	s.Close()
}

// A migration of a large database takes longer than any statement of a caller may. The limits are those of the address,
// or the database's behind a pooler that refuses parameters, where a role's act in the same way.
func TestMigrationHasNoTimeouts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if d.Dir != "" {
			upgradeDespiteLock(t, d, d, `UPDATE users SET name = name`)
			return
		}
		hasty := d
		for _, name := range timeouts {
			hasty.Address += "&" + name + "=1000"
		}
		upgradeDespiteLock(t, d, hasty, `LOCK TABLE memories IN ACCESS SHARE MODE`)
	})
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if d.Dir != "" {
			return
		}
		p := &pooler{parameters: true}
		startPooler(t, p, d.Address)
		setShortTimeouts(t, d)
		upgradeDespiteLock(t, withoutTimeouts(d), storetest.Database{Address: p.address},
			`LOCK TABLE memories IN ACCESS SHARE MODE`)
		if p.refused.Load() == 0 {
			t.Error("the pooler refused no parameter")
		}
	})
}

// The older program waits for the lock while a newer one migrates an empty database. The session of the older program
// read the catalog before, and may have cached that no table exists.
func TestOlderProgramRefusesSchemaOfNewerOneThatMigratedMeanwhile(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		d = storetest.NewPostgresSchema(t, d.Engine)
		newer, err := d.DB(t).Begin()
		if err == nil {
			_, err = newer.Exec(
				`SELECT pg_advisory_xact_lock(hashtextextended('loci migration of ' || current_schema(), 0))`)
		}
		if err != nil {
			t.Fatal(err)
		}
		const waiting = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND (classid, objid) = (SELECT ((h >> 32) & 4294967295)::TEXT::OID, (h & 4294967295)::TEXT::OID
				FROM hashtextextended('loci migration of ' || current_schema(), 0) h)`
		opened := make(chan error, 1)
		go func() {
			s, err := d.TryOpen(store.Options{})
			if err == nil {
				s.Close()
			}
			opened <- err
		}()
		waittest.Until(t, func() bool { return d.Query(t, waiting)[0] != "0" || len(opened) > 0 })
		if _, err = newer.Exec(fmt.Sprintf(`CREATE TABLE goose_db_version AS SELECT %d AS version_id, true AS is_applied`,
			store.SchemaVersion()+1)); err == nil {
			err = newer.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := <-opened; err == nil || !strings.Contains(err.Error(), "use a newer loci") {
			t.Errorf("the older program got %v", err)
		}
	})
}

// The operator reads the cause, and not that he should try again.
func TestFailedMigrationReportsCause(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, d storetest.Database) {
		d.Exec(t, `CREATE TABLE users (id TEXT)`)
		if d.Dir != "" { // without this table, it would be the database of another program
			d.Exec(t, `CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL,
				is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))`)
			d.Exec(t, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)`)
		}
		s, err := d.TryOpen(store.Options{})
		if err == nil {
			s.Close()
		}
		if _, coded := errors.AsType[*loci.Error](err); coded || !strings.Contains(fmt.Sprint(err), "users") ||
			!strings.Contains(fmt.Sprint(err), "already exists") {
			t.Errorf("told %v", err)
		}
	})
}

func TestFailedMigrationKeepsSchemaOfThoseBefore(t *testing.T) {
	t.Parallel()
	broken := store.WithNextMigrations(t, store.Options{}, nextMigration, `ALTER TABLE nowhere ADD COLUMN x TEXT;`)
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		d.Open(t, store.Options{}).Close()
		for range 2 {
			if _, err := d.TryOpen(broken); err == nil || !strings.Contains(err.Error(), "nowhere") {
				t.Errorf("a migration of a missing table got %v", err)
			}
			if have, err := d.SchemaStatus(ctx); err != nil || have.Current != store.SchemaVersion()+1 {
				t.Errorf("the schema after the first migration is %+v, %v", have, err)
			}
		}
	})
}

func TestOpenReportsSearchPathWithoutSchema(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		d.Address = regexp.MustCompile("search_path=[^&]*").ReplaceAllString(d.Address, "search_path=nowhere")
		if _, err := d.TryOpen(store.Options{}); err == nil || !strings.Contains(err.Error(), "search_path") {
			t.Errorf("told %v", err)
		}
	})
}
