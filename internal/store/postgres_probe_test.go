package store_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

func TestPoolerInTransactionModeServes(t *testing.T) {
	t.Parallel()
	for _, refuses := range []bool{true, false} { // as it is, and with ignore_startup_parameters
		onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
			p := &pooler{parameters: refuses}
			s := openThrough(t, p, d)
			ann := user(t, s, "ann")
			m := add(t, s, ann, "", "a zebra crosses")
			if f := searchKeywords(t, s, ann, "zebra", loci.MemoryFilter{}); len(f.Hits) != 1 ||
				f.Hits[0].Memory.ID != m.ID {
				t.Errorf("found %v", f.Hits)
			}
			if n := p.named.Load(); n != 0 {
				t.Errorf("%d statements were prepared by name", n)
			}
			if got := p.refused.Load() > 0; got != refuses {
				t.Errorf("parameters were refused: %v", got)
			}
		})
	}
}

func TestPoolerWithAnUnknownParameterIsRefusedWithWhatHelps(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		p := &pooler{parameters: true}
		startPooler(t, p, d.Address)
		_, err := store.OpenPostgres(ctx, p.address+"&statement_timeout=5000", store.Options{})
		if err == nil || !strings.Contains(err.Error(), "ignore_startup_parameters") ||
			!strings.Contains(err.Error(), "statement_timeout") {
			t.Errorf("told %v", err)
		}
	})
}

func TestCallersWaitForAConnectionInUseWhereTheServerRefusesMore(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		p := &pooler{}
		s := openThrough(t, p, d)
		p.most.Store(3)
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				err := store.WriteRaw(s, func(exec store.Exec) error {
					if err := exec(`INSERT INTO metadata (name, value) VALUES (?1, '')`,
						fmt.Sprint("row ", i)); err != nil {
						return err
					}
					return exec(`SELECT pg_sleep(.05)`)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if p.refused.Load() == 0 {
			t.Error("no connection was refused")
		}
		if got := d.Query(t, `SELECT name FROM metadata WHERE name LIKE 'row %'`); len(got) != 24 {
			t.Errorf("%d rows of 24", len(got))
		}
	})
}

// TestUnknownOutcomeOfCommitAsksForRetry loses the connection during a commit that succeeds.
func TestUnknownOutcomeOfCommitAsksForRetry(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		p := &pooler{}
		s := openThrough(t, p, d)
		for _, row := range []string{"lost", "explained"} {
			p.explains.Store(row == "explained")
			p.cutCommits.Store(true)
			told := false
			err := s.DB().WriteTx(ctx, "", func(tx *sqldb.Tx) error {
				tx.OnCommit(func() { told = true })
				_, err := tx.Exec(`INSERT INTO metadata (name, value) VALUES (?1, '')`, row)
				return err
			})
			e := loci.AsError(err)
			if e.Code.Status() != 503 || e.RetryAfter != time.Second || !told ||
				!strings.Contains(e.Message, "Idempotency-Key") {
				t.Errorf("%v, retry after %v; caches are told: %t", err, e.RetryAfter, told)
			}
			p.cutCommits.Store(false)
			waittest.Until(t, func() bool { // the server may end the commit after the client's error
				return len(d.Query(t, `SELECT name FROM metadata WHERE name = '`+row+`'`)) > 0
			})
		}
	})
}

func TestRepeatedCallAfterLostCommitReturnsFirstResponse(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		p := &pooler{}
		s := openThrough(t, p, d)
		ann := user(t, s, "ann")
		p.cutCommits.Store(true)
		if _, err := tryAdd(s, withIdempotencyKey(ann, "k", "a"), "", "text"); !loci.Is(err, loci.CodeUnavailable) {
			t.Errorf("told %v", err)
		}
		p.cutCommits.Store(false)
		waittest.Until(t, func() bool { // the server may end the commit after the client's error
			return d.Count(t, "memories") == "1"
		})
		again := withIdempotencyKey(ann, "k", "a")
		m, err := tryAdd(s, again, "", "text")
		if list := ids(t, s, ann, loci.MemoryFilter{}, 10); err != nil || !again.Idempotency.Replayed ||
			len(list) != 1 || list[0] != m.ID {
			t.Errorf("%s, %v, replayed: %t; stored %v", m.ID, err, again.Idempotency.Replayed, list)
		}
	})
}

func TestCallersAreToldAtOnceWhereTheServerIsAway(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		u, err := url.Parse(d.Address)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("away%d", time.Now().UnixNano())
		q := u.Query()
		q.Set("application_name", name)
		u.RawQuery = q.Encode()
		p := &pooler{}
		startPooler(t, p, u.String())
		// A caller that waited for the server would wait for an hour.
		s := storetest.Database{Address: p.address}.Open(t, store.WithBusyTimeout(store.Options{}, time.Hour))
		p.most.Store(-1)
		d.Exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '`+name+`'`)
		for range 8 {
			if err := s.Ping(ctx); !loci.Is(err, loci.CodeUnavailable) {
				t.Errorf("told %v", err)
			}
		}
	})
}

func TestDatabaseThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		name := fmt.Sprintf("latin%d", time.Now().UnixNano())
		d.Exec(t, `CREATE DATABASE `+name+` ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
		defer d.Exec(t, `DROP DATABASE `+name)
		u, err := url.Parse(d.Address)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + name
		u.RawQuery = "sslmode=disable"
		_, err = store.OpenPostgres(ctx, u.String(), store.Options{})
		if !loci.Is(err, loci.CodeInvalidQuery) || !strings.Contains(err.Error(), "LATIN1") ||
			!strings.Contains(err.Error(), "ENCODING 'UTF8'") {
			t.Errorf("told %v", err)
		}
	})
}

func TestSchemaThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, _ *store.Store) {
		u, err := url.Parse(d.Address)
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery = "sslmode=disable&search_path=nowhere"
		_, err = store.OpenPostgres(ctx, u.String(), store.Options{})
		if !loci.Is(err, loci.CodeInvalidQuery) || !strings.Contains(err.Error(), "search_path") {
			t.Errorf("told %v", err)
		}
	})
}
