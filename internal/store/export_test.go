package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"math"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// Patient returns options by which callers wait for one another that long.
func Patient(o Options, d time.Duration) Options {
	o.patience = d
	return o
}

// Restless returns options by which an index is tidied after so short a pause.
func Restless(o Options, quiet time.Duration) Options {
	o.quiet = quiet
	return o
}

// InWindows returns an inspection that holds the bands of so many memories at once.
func InWindows(o Inspection, memories int) Inspection {
	o.window = memories
	return o
}

// An Exec runs a statement in a transaction.
type Exec func(q string, args ...any) error

// Raw runs f in a bare transaction of the store's.
func Raw(s *Store, f func(Exec) error) error {
	return s.db.write(context.Background(), "", func(c conn) error {
		return f(func(q string, args ...any) error { _, err := c.exec(q, args); return err })
	})
}

// A Statement is what was sent to a database, and how many rows came back.
type Statement struct {
	Text string
	Args []any
	Rows int
}

// Watch tells f of every statement that the store sends from now on. Nobody else
// may use the store, not even its folder, which writes set to work.
func Watch(s *Store, f func(Statement)) { s.db = watched{s.db, f} }

type watched struct {
	database
	tell func(Statement)
}

func (w watched) read(ctx context.Context, user string, f func(conn) error) error {
	return w.database.read(ctx, user, func(c conn) error { return f(watchedConn{c, w.tell}) })
}

func (w watched) write(ctx context.Context, user string, f func(conn) error) error {
	return w.database.write(ctx, user, func(c conn) error { return f(watchedConn{c, w.tell}) })
}

type watchedConn struct {
	conn
	tell func(Statement)
}

func (c watchedConn) exec(q string, args []any) (int64, error) {
	c.tell(Statement{Text: q, Args: args})
	return c.conn.exec(q, args)
}

func (c watchedConn) insert(q string, args []any) (int64, error) {
	c.tell(Statement{Text: q, Args: args})
	return c.conn.insert(q, args)
}

func (c watchedConn) one(q string, args []any, dest []any) error {
	c.tell(Statement{q, args, 1})
	return c.conn.one(q, args, dest)
}

func (c watchedConn) each(q string, args []any, f func(row) error) error {
	n := 0
	defer func() { c.tell(Statement{q, args, n}) }()
	return c.conn.each(q, args, func(r row) error { n++; return f(r) })
}

func (c watchedConn) few(q string, args []any, f func(row) error) error {
	n := 0
	defer func() { c.tell(Statement{q, args, n}) }()
	return c.conn.few(q, args, func(r row) error { n++; return f(r) })
}

// Plan returns the lines of a statement's plan. PostgreSQL runs it, without
// sequential scans where there is another way.
func Plan(s *Store, st Statement) (lines []string, err error) {
	err = s.db.read(context.Background(), "", func(c conn) error {
		if s.db.dialect() == sqliteDialect {
			return c.each(`EXPLAIN QUERY PLAN `+st.Text, st.Args, func(r row) error {
				var id, parent, unused int
				var line string
				err := r.Scan(&id, &parent, &unused, &line)
				lines = append(lines, line)
				return err
			})
		}
		for _, q := range []string{`SET enable_seqscan = off`, `SET plan_cache_mode = force_custom_plan`} {
			if _, err := c.exec(q, nil); err != nil {
				return err
			}
		}
		defer c.exec(`RESET ALL`, nil)
		return c.each(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) `+st.Text, st.Args, func(r row) error {
			var line string
			err := r.Scan(&line)
			lines = append(lines, line)
			return err
		})
	})
	return lines, err
}

// Hits returns the ids and the exact scores of all that the index finds, and
// how many it says there are.
func Hits(t testing.TB, s *Store, who *loci.Actor, q search.Query, f Filter) (lines []string, total int) {
	t.Helper()
	total, err := Read(context.Background(), s, who, func(tx *Tx) (total int, err error) {
		r, err := tx.reach(f)
		if err != nil {
			return 0, err
		}
		finding := &finding{t: tx, q: Question{Words: q}, reach: r, filter: f.search(r), want: 1000, rows: map[int64]*fetched{}}
		if err := finding.open(); err != nil {
			return 0, err
		}
		if err := finding.rank(); err != nil {
			return 0, err
		}
		for _, h := range merged(finding.places, byWords, math.MaxInt) {
			m, err := tx.scanMemory(scanned{func(dest ...any) error {
				return tx.one(`SELECT`+memoryColumns+`FROM`+tx.memories()+`WHERE e.rid = ?2`, []any{h.Memory}, dest...)
			}})
			if err != nil {
				return 0, err
			}
			lines = append(lines, fmt.Sprintf("%s %.9g", m.ID, h.Score))
		}
		return finding.found.Total, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, total
}

// Row scans the only row of a query.
func Row(t testing.TB, s *Store, q string, arg any, dest ...any) {
	t.Helper()
	if err := s.db.read(context.Background(), "", func(c conn) error { return c.one(q, []any{arg}, dest) }); err != nil {
		t.Fatal(err)
	}
}

// Embeds reports whether the process has begun to give memories their vectors: what
// it took for abandoned is free by then.
func Embeds(s *Store) bool { return s.embedding.answering.Load() != nil }

// SchemaVersion returns the number of the newest migration.
func SchemaVersion() int64 { return schemaVersion }

// Migrations returns the names of the migrations in a folder, oldest first.
func Migrations(t testing.TB, dir string) (names []string) {
	t.Helper()
	files, err := fs.ReadDir(migrations, "migrations/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// MigrateTo makes the schema of an empty database what it was in a version.
func MigrateTo(t testing.TB, db *sql.DB, version int64) {
	t.Helper()
	dialect, dir := goose.DialectPostgres, "postgres"
	if _, err := db.Exec(`PRAGMA journal_mode = WAL`); err == nil { // PostgreSQL has no pragma
		dialect, dir = goose.DialectSQLite3, "sqlite"
	}
	p, err := provider(dialect, db, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(context.Background(), version); err != nil {
		t.Fatal(err)
	}
	if dir == "sqlite" {
		if _, err := db.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, version)); err != nil {
			t.Fatal(err)
		}
	}
}

// ContentHash returns the hash that a memory's row has of its content.
func ContentHash(content string) int64 { return contentHash(content) }
