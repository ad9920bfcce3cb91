package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

// A single write is too small for a merge while more may follow. Searches of an
// idle workspace read one segment, and return the same results as before.
func TestIdleIndexIsMerged(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.WithIdleDelay(store.Options{}, 400*time.Millisecond))
		ann := user(t, s, "ann")
		crew := team(t, s, ann, nil)
		segments := func() string {
			return fmt.Sprint(d.Query(t,
				`SELECT count(*) FROM segments g JOIN workspaces w ON w.row_id = g.workspace WHERE w.id = '`+
					string(crew)+`'`))
		}
		for range index.IdleFanIn {
			for i := range 3 {
				add(t, s, ann, crew, fmt.Sprint("a rested word number ", i))
			}
			flush(t, s, crew)
		}
		for i := range 70 { // less than writing flushes
			add(t, s, ann, crew, fmt.Sprint("it waits in the log of changes ", i))
		}
		waiting := func() string {
			return fmt.Sprint(d.Query(t,
				`SELECT count(*) FROM index_log c JOIN workspaces w ON w.row_id = c.workspace WHERE w.id = '`+
					string(crew)+`'`))
		}
		waittest.Until(t, func() bool { return waiting() == "[0]" })
		waittest.Until(t, func() bool { return segments() == "[1]" })
		found, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
			return storetest.Search(tx, retrieve.NewQuery("rested number"), loci.MemoryFilter{WorkspaceID: crew}, "",
				50)
		})
		if err != nil || len(found.Hits) != 3*index.IdleFanIn || found.KeywordCandidates != len(found.Hits) {
			t.Errorf("%d of %d memories are found: %v", len(found.Hits), found.KeywordCandidates, err)
		}
	})
}

// raced marks the context of a flush, so that the background work of the store is not counted.
type raced struct{}

var racedContext = context.WithValue(context.Background(), raced{}, true)

// A racingDB calls before ahead of each of so many writes; counted limits them to those of racedContext.
type racingDB struct {
	sqldb.DB
	counted bool
	races   atomic.Int64
	before  func() error
}

func (d *racingDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	if (!d.counted || ctx.Value(raced{}) != nil) && d.races.Add(-1) >= 0 {
		if err := d.before(); err != nil {
			return err
		}
	}
	return d.DB.Write(ctx, user, f)
}

// raiseVersions changes the version of every index, as a flush of another process does.
func (d *racingDB) raiseVersions() error {
	return d.DB.Write(ctx, "", func(c sqldb.Conn) error {
		_, err := c.Exec(`UPDATE keyword_indexes SET version = version + 1`, nil)
		return err
	})
}

func TestFlushLeavesNoRowWhenOthersChangeTheIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		racing := &racingDB{}
		racing.before = racing.raiseVersions
		s := d.Open(t, store.Options{OneShot: true, Intercept: storetest.Intercept(racing, &racing.DB)})
		ann := user(t, s, "ann")
		rows := func() []string { return d.Query(t, `SELECT count(*) FROM index_log`) }
		workspace := add(t, s, ann, "", "text").WorkspaceID
		flush(t, s, workspace)
		add(t, s, ann, "", "another text")
		racing.races.Store(3)
		if err := s.Flush(ctx, workspace); err != nil || !slices.Equal(rows(), []string{"0"}) {
			t.Errorf("after three races %v rows are left: %v", rows(), err)
		}
		add(t, s, ann, "", "a third text")
		racing.races.Store(1000)
		if err := s.Flush(ctx, workspace); !loci.Is(err, loci.CodeUnavailable) {
			t.Errorf("the flush of an index that always changes got %v, with %v rows left", err, rows())
		}
	})
}

func TestFlushEndsWhileAnotherProcessWrites(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		writer := d.Open(t, store.Options{OneShot: true})
		ann := user(t, writer, "ann")
		racing := &racingDB{counted: true, before: func() error {
			_, err := storetest.TryAdd(writer, ann, "", "a later text")
			return err
		}}
		s := d.Open(t, store.Options{OneShot: true, Intercept: storetest.Intercept(racing, &racing.DB)})
		workspace := add(t, s, ann, "", "text").WorkspaceID
		racing.races.Store(20)
		if err := s.Flush(racedContext, workspace); err != nil || racing.races.Load() != 19 {
			t.Errorf("the flush of one row took %d writes: %v", 20-racing.races.Load(), err)
		}
	})
}

// A readRacingDB calls before ahead of each of so many reads of racedContext.
type readRacingDB struct {
	sqldb.DB
	races  atomic.Int64
	before func() error
}

func (d *readRacingDB) Read(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	if ctx.Value(raced{}) != nil && d.races.Add(-1) >= 0 {
		if err := d.before(); err != nil {
			return err
		}
	}
	return d.DB.Read(ctx, user, f)
}

func TestFlushEndsWhileAnotherProcessWritesToTheEmptyLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		writer := d.Open(t, store.Options{OneShot: true})
		ann := user(t, writer, "ann")
		racing := &readRacingDB{before: func() error {
			_, err := storetest.TryAdd(writer, ann, "", "a later text")
			return err
		}}
		s := d.Open(t, store.Options{OneShot: true, Intercept: storetest.Intercept(racing, &racing.DB)})
		workspace := add(t, s, ann, "", "text").WorkspaceID
		racing.races.Store(60)
		if err := s.Flush(racedContext, workspace); err != nil || racing.races.Load() < 40 {
			t.Errorf("the flush of one row took %d reads: %v", 60-racing.races.Load(), err)
		}
	})
}

// Each new version makes the flushes that others have prepared fail.
func TestReindexingKeepsTheVersionWhenTheLogIsEmpty(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		workspace := add(t, s, ann, "", "text").WorkspaceID
		add(t, s, ann, "", "another text")
		flush(t, s, workspace)
		version := func() string { return fmt.Sprint(d.Query(t, `SELECT version FROM keyword_indexes`)) }
		reindex := func() {
			t.Helper()
			d.Exec(t, `UPDATE keyword_indexes SET analyzer = 0`)
			if err := s.Index().ReindexOutdated(ctx); err != nil {
				t.Error(err)
			}
			checkHealthy(t, s)
		}
		before := version()
		if reindex(); version() != before {
			t.Errorf("the version was %s and is %s", before, version())
		}
		if reindex(); version() == before { // the log has a row of each memory
			t.Errorf("the version is still %s", before)
		}
	})
}

// Nothing requests the flush of an idle workspace again.
func TestIdleIndexIsFlushedAfterTheDatabaseWasBusy(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		busy := &racingDB{before: func() error { return loci.Errorf(loci.CodeUnavailable, "busy") }}
		s := d.Open(t, store.WithIdleDelay(store.Options{OneShot: true, Intercept: storetest.Intercept(busy, &busy.DB)},
			400*time.Millisecond))
		ann := user(t, s, "ann")
		for i := range 70 {
			add(t, s, ann, "", fmt.Sprint("text ", i))
		}
		busy.races.Store(2)
		waittest.Until(t, func() bool {
			return d.Query(t, `SELECT count(*) FROM index_log`)[0] == "0" && busy.races.Load() < 0
		})
	})
}

// A damagedDB cannot read one memory.
type damagedDB struct {
	sqldb.DB
	memory atomic.Int64
}

func (d *damagedDB) Read(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return d.DB.Read(ctx, user, func(c sqldb.Conn) error { return f(damagedConn{c, d.memory.Load()}) })
}

type damagedConn struct {
	sqldb.Conn
	memory int64
}

func (c damagedConn) QueryRow(q string, args []any, dest []any) error {
	if strings.Contains(q, "content FROM memories") && slices.Equal(args, []any{c.memory}) {
		return errors.New("a damaged page")
	}
	return c.Conn.QueryRow(q, args, dest)
}

func TestReindexingContinuesAfterADamagedWorkspace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		damaged := &damagedDB{}
		s := d.Open(t, store.Options{OneShot: true, Intercept: storetest.Intercept(damaged, &damaged.DB)})
		for _, name := range []string{"ann", "bob"} {
			add(t, s, user(t, s, name), "", "text")
		}
		var memory int64
		store.QueryRow(t, s, `SELECT min(row_id) FROM memories WHERE row_id > ?1`, 0, &memory)
		d.Exec(t, `UPDATE keyword_indexes SET analyzer = 0`)
		damaged.memory.Store(memory)
		err := s.Index().ReindexOutdated(ctx)
		if left := d.Query(t, `SELECT count(*) FROM keyword_indexes WHERE analyzer = 0`); err == nil ||
			!slices.Equal(left, []string{"1"}) {
			t.Errorf("%v workspaces are left: %v", left, err)
		}
	})
}

func TestReindexingIsLongerThanAQueryMayBe(t *testing.T) {
	t.Parallel()
	d := storetest.Database{Dir: t.TempDir()}
	s := d.Open(t, store.Options{})
	ann := user(t, s, "ann")
	for i := range 40 {
		add(t, s, ann, "", fmt.Sprint("text ", i))
	}
	s.Close()
	d.Exec(t, `UPDATE memories SET content = replace(hex(zeroblob(200000)), '00', 'ab ')`)
	s = d.Open(t, store.WithBusyTimeout(store.Options{}, 250*time.Millisecond))
	d.Exec(t, `UPDATE keyword_indexes SET analyzer = 0`)
	if err := s.Index().ReindexOutdated(ctx); err != nil {
		t.Error(err)
	}
}
