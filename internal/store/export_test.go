package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"testing"
	"testing/fstest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// WithBusyTimeout returns options by which callers wait for one another that long.
func WithBusyTimeout(o Options, d time.Duration) Options {
	o.busyTimeout = d
	return o
}

// WithIdleDelay returns options by which an index is tidied after so short a pause.
func WithIdleDelay(o Options, quiet time.Duration) Options {
	o.idleDelay = quiet
	return o
}

// An Exec runs a statement in a transaction.
type Exec func(q string, args ...any) error

// WriteRaw runs f in a bare transaction of the store's.
func WriteRaw(s *Store, f func(Exec) error) error {
	return s.base.DB.Write(context.Background(), "", func(c sqldb.Conn) error {
		return f(func(q string, args ...any) error { _, err := c.Exec(q, args); return err })
	})
}

// A Statement is what was sent to a database, and how many rows came back.
type Statement struct {
	Text string
	Args []any
	Rows int
}

// TraceStatements tells f of every statement that the store sends from now on. Nobody else
// may use the store, not even its folder, which writes set to work.
func TraceStatements(s *Store, f func(Statement)) { s.base.DB.DB = tracedDB{s.base.DB.DB, f} }

type tracedDB struct {
	sqldb.DB
	trace func(Statement)
}

func (w tracedDB) Read(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return w.DB.Read(ctx, user, func(c sqldb.Conn) error { return f(tracedConn{c, w.trace}) })
}

func (w tracedDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return w.DB.Write(ctx, user, func(c sqldb.Conn) error { return f(tracedConn{c, w.trace}) })
}

// Analyses returns the slots of the analyses of long texts.
func (s *Store) Analyses() *limit.Semaphore[loci.ID] { return s.base.Analyses }

// TraceComputations calls f before each computation that runs outside of its transaction, with a value of its type.
// Nobody else may use the store.
func TraceComputations(s *Store, f func(value any)) { s.base.DB.DB = computationsDB{s.base.DB.DB, f} }

type computationsDB struct {
	sqldb.DB
	trace func(value any)
}

func (w computationsDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	err := w.DB.Write(ctx, user, f)
	if c, ok := errors.AsType[*scope.Computation](err); ok {
		w.trace(c.Run())
	}
	return err
}

type tracedConn struct {
	sqldb.Conn
	trace func(Statement)
}

func (c tracedConn) Exec(q string, args []any) (int64, error) {
	c.trace(Statement{Text: q, Args: args})
	return c.Conn.Exec(q, args)
}

func (c tracedConn) Insert(q string, args []any) (int64, error) {
	c.trace(Statement{Text: q, Args: args})
	return c.Conn.Insert(q, args)
}

func (c tracedConn) QueryRow(q string, args []any, dest []any) error {
	c.trace(Statement{q, args, 1})
	return c.Conn.QueryRow(q, args, dest)
}

func (c tracedConn) Query(q string, args []any, f func(sqldb.Row) error) error {
	n := 0
	defer func() { c.trace(Statement{q, args, n}) }()
	return c.Conn.Query(q, args, func(r sqldb.Row) error { n++; return f(r) })
}

func (c tracedConn) QueryFew(q string, args []any, f func(sqldb.Row) error) error {
	n := 0
	defer func() { c.trace(Statement{q, args, n}) }()
	return c.Conn.QueryFew(q, args, func(r sqldb.Row) error { n++; return f(r) })
}

// QueryPlan returns the lines of a statement's plan. PostgreSQL runs it, without
// sequential scans where there is another way.
func QueryPlan(s *Store, st Statement) (lines []string, err error) {
	err = s.base.DB.Read(context.Background(), "", func(c sqldb.Conn) error {
		if s.base.DB.Dialect().Name == "sqlite" {
			return c.Query(`EXPLAIN QUERY PLAN `+st.Text, st.Args, func(r sqldb.Row) error {
				var id, parent, unused int
				var line string
				err := r.Scan(&id, &parent, &unused, &line)
				lines = append(lines, line)
				return err
			})
		}
		for _, q := range []string{`SET enable_seqscan = off`, `SET plan_cache_mode = force_custom_plan`} {
			if _, err := c.Exec(q, nil); err != nil {
				return err
			}
		}
		defer c.Exec(`RESET ALL`, nil)
		return c.Query(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) `+st.Text, st.Args,
			func(r sqldb.Row) error {
				var line string
				err := r.Scan(&line)
				lines = append(lines, line)
				return err
			})
	})
	return lines, err
}

// KeywordHits returns ids and exact scores of all hits of the index, and the number of hits that it reports.
func KeywordHits(t testing.TB, s *Store, actor *identity.Actor, q query.Query,
	f loci.MemoryFilter) (lines []string, total int) {
	t.Helper()
	total, err := Read(context.Background(), s, actor, func(tx *Tx) (total int, err error) {
		var hits []query.Hit
		err = tx.in.Conn.RepeatableRead(func() (err error) { // a flush may come at any time
			hits, total, err = rankKeywords(tx, q, f)
			return err
		})
		if err != nil {
			return 0, err
		}
		for _, h := range query.TopHits(hits, len(hits)) {
			m, err := memorydb.Scan(tx.in, tx.in.Row(`SELECT`+memorydb.Columns+`FROM`+memorydb.Join(tx.in)+
				`WHERE e.row_id = ?2`, h.Memory))
			if err != nil {
				return 0, err
			}
			lines = append(lines, fmt.Sprintf("%s %.9g", m.ID, h.Score))
		}
		return total, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, total
}

// rankKeywords ranks by the indexes alone. Of several workspaces, none corrects a word that another one knows.
func rankKeywords(tx *Tx, q query.Query, f loci.MemoryFilter) (hits []query.Hit, total int, err error) {
	src, err := memorydb.NewSearchSource(tx, f)
	if err != nil {
		return nil, 0, err
	}
	states, err := src.States()
	if err != nil {
		return nil, 0, err
	}
	pages, fetch := src.Pages()
	suspects := q.MisspellingCandidates()
	rank := func(q query.Query) (unknown []string, err error) {
		unknown, hits, total = suspects, nil, 0
		for _, state := range states {
			x, err := src.Snapshot(state)
			if err != nil {
				return nil, err
			}
			rewritten, r, err := query.Search(x.Snapshot, pages, fetch, q, src.Filter(), int64(src.Now()), 1000)
			if err != nil {
				return nil, err
			}
			unknown, hits, total = r.UnknownWords(rewritten, unknown), append(hits, r.Hits...), total+r.Total
		}
		return unknown, nil
	}
	if len(states) > 1 {
		unknown, err := rank(q.CorrectOnly(nil))
		if err != nil || len(unknown) == 0 {
			return hits, total, err
		}
		q = q.CorrectOnly(unknown)
	}
	_, err = rank(q)
	return hits, total, err
}

// QueryRow scans the only row of a query.
func QueryRow(t testing.TB, s *Store, q string, arg any, dest ...any) {
	t.Helper()
	if err := s.base.DB.Read(context.Background(), "", func(c sqldb.Conn) error {
		return c.QueryRow(q, []any{arg}, dest)
	}); err != nil {
		t.Fatal(err)
	}
}

// SchemaVersion returns the number of the newest migration.
func SchemaVersion() int64 { return sqldb.LatestSchema }

// Migrations returns the names of the migrations, oldest first.
func Migrations(t testing.TB) (names []string) {
	t.Helper()
	files, err := fs.Glob(sqldb.MigrationFiles, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		names = append(names, path.Base(name))
	}
	return names
}

// WithNextMigrations returns options with more migrations than the program has.
func WithNextMigrations(t testing.TB, o Options, migrations ...string) Options {
	t.Helper()
	all := fstest.MapFS{}
	for _, name := range Migrations(t) {
		text, err := sqldb.MigrationFiles.ReadFile("migrations/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all["migrations/"+name] = &fstest.MapFile{Data: text}
	}
	for i, statements := range migrations {
		next := fmt.Sprintf("migrations/%05d_next.sql", sqldb.LatestSchema+1+int64(i))
		all[next] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + statements)}
	}
	o.migrations = all
	return o
}

// MigrateTo migrates a database to a schema.
func MigrateTo(t testing.TB, db *sql.DB, version int64) {
	t.Helper()
	_, err := db.Exec(`PRAGMA journal_mode = WAL`) // PostgreSQL has no pragma
	d := &sqldb.Dialect{Postgres: err != nil}
	p, err := sqldb.NewMigrator(d, db, sqldb.MigrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(context.Background(), version); err != nil {
		t.Fatal(err)
	}
}
