package integrity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// errPage is the error of a statement that meets a damaged page.
var errPage = sqldb.NewUnreadableError(errors.New("a damaged page"))

// errCutOff is the error of a write transaction that does not begin.
var errCutOff = errors.New("the program ends")

// A fault fails statements with an error, as a damaged page does.
type fault struct {
	err     error
	matches func(q string, args []any) bool
}

// A faultyDB is a database whose statements may fail.
type faultyDB struct {
	sqldb.DB
	fault atomic.Pointer[fault]    // nil means none
	count func(q string, rows int) // called with the number of rows of each query; may be nil

	writes atomic.Int64 // the number of further write transactions before they fail; 0 means all
}

// openFaulty opens a database whose statements may fail.
func openFaulty(t *testing.T, d storetest.Database) (*store.Store, *faultyDB) {
	t.Helper()
	faulty := &faultyDB{}
	return d.Open(t, store.Options{Intercept: storetest.Intercept(faulty, &faulty.DB)}), faulty
}

// fail lets statements fail from now on.
func (d *faultyDB) fail(err error, matches func(q string, args []any) bool) {
	d.fault.Store(&fault{err, matches})
}

// failWith lets statements with a text fail from now on as those that meet a damaged page.
func (d *faultyDB) failWith(text string) {
	d.fail(errPage, func(q string, _ []any) bool { return strings.Contains(q, text) })
}

func (d *faultyDB) Read(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return d.DB.Read(ctx, user, func(c sqldb.Conn) error { return f(faultyConn{c, d}) })
}

func (d *faultyDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	if d.writes.Load() == 1 {
		return errCutOff
	}
	if d.writes.Load() > 1 {
		d.writes.Add(-1)
	}
	return d.DB.Write(ctx, user, func(c sqldb.Conn) error { return f(faultyConn{c, d}) })
}

type faultyConn struct {
	sqldb.Conn
	db *faultyDB
}

// failure returns the error of a statement that must fail.
func (c faultyConn) failure(q string, args []any) error {
	f := c.db.fault.Load()
	if f == nil || !f.matches(q, args) {
		return nil
	}
	_, _ = c.Conn.Exec(`SELECT 1/0`, nil) // aborts the transaction of PostgreSQL
	return f.err
}

func (c faultyConn) Query(q string, args []any, f func(sqldb.Row) error) error {
	if err := c.failure(q, args); err != nil {
		return err
	}
	rows := 0
	err := c.Conn.Query(q, args, func(r sqldb.Row) error { rows++; return f(r) })
	if c.db.count != nil {
		c.db.count(q, rows)
	}
	return err
}

func (c faultyConn) QueryRow(q string, args []any, dest []any) error {
	if err := c.failure(q, args); err != nil {
		return err
	}
	return c.Conn.QueryRow(q, args, dest)
}

func (c faultyConn) Exec(q string, args []any) (int64, error) {
	if err := c.failure(q, args); err != nil {
		return 0, err
	}
	return c.Conn.Exec(q, args)
}

// A document of a segment stays until another one has replaced it.
func TestRepairKeepsDocumentsWhenItCannotWriteTheLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s, faulty := openFaulty(t, d)
		ann := user(t, s, "ann")
		for _, text := range []string{"the blue harbour", "the red harbour", "the green harbour"} {
			add(t, s, ann, "", text)
		}
		last := add(t, s, ann, "", "a white boat")
		flush(t, s, last.WorkspaceID)
		remove(t, s, ann, last.ID)
		d.Exec(t, `DELETE FROM index_log`) // the document of a memory that is gone stays
		d.Exec(t, `UPDATE atlases SET memories = 0`)
		faulty.failWith("INSERT INTO index_log")
		if sum := checkIntegrity(t, s, true); sum.Found == 0 || sum.Found == sum.Repaired {
			t.Errorf("%+v", sum)
		}
		faulty.fault.Store(nil)
		testenv.Equal(t, searchKeywords(t, s, ann, "harbour", loci.MemoryFilter{}).KeywordCandidates, 3,
			"memories are found")
		if sum := checkIntegrity(t, s, true); sum.Found == 0 || sum.Found != sum.Repaired {
			t.Errorf("%+v", sum)
		}
		checkHealthy(t, s)
	})
}

// Neither the part of the bands that can be read nor that of the index is compared.
func TestCheckComparesNoUnreadableTable(t *testing.T) {
	t.Parallel()
	for text, name := range map[string]string{"SELECT band, memory": "near duplicates",
		"SELECT seq, memory": "keyword index"} {
		storetest.Each(t, func(t *testing.T, d storetest.Database) {
			s, faulty := openFaulty(t, d)
			add(t, s, user(t, s, "ann"), "", "the blue harbour")
			faulty.failWith(text)
			for _, repair := range []bool{false, true} {
				if sum := checkIntegrity(t, s, repair); sum.Found != 1 ||
					!strings.Contains(sum.Inconsistencies[0].Detail, name) {
					t.Errorf("%+v", sum)
				}
			}
			faulty.fault.Store(nil)
			checkHealthy(t, s)
		})
	}
}

// A repair of bands inserts the right ones before it deletes any, and leaves the right ones if it cannot delete others.
func TestRepairKeepsRightBandsWhenItCannotDelete(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s, faulty := openFaulty(t, d)
		ann := user(t, s, "ann")
		add(t, s, ann, "", "the blue harbour of the north")
		add(t, s, ann, "", "a white boat on the lake")
		bands := func() []string {
			return d.Query(t, `SELECT CAST(band AS TEXT) FROM minhash_bands WHERE memory > 0 AND band <> 5 ORDER BY band`)
		}
		before := bands()
		lost := before[0]
		d.Exec(t, `DELETE FROM minhash_bands WHERE band = `+lost)
		d.Exec(t, `INSERT INTO minhash_bands (workspace, band, memory) SELECT workspace, 5, row_id FROM memories`)
		faulty.failWith("DELETE FROM minhash_bands")
		if sum := checkIntegrity(t, s, true); sum.Found != 1 || sum.Repaired != 0 {
			t.Errorf("%+v", sum)
		}
		testenv.EqualSlices(t, bands(), before, "the bands are", "they were")
		faulty.fault.Store(nil)
		if sum := checkIntegrity(t, s, true); sum.Found != 1 || sum.Repaired != 1 {
			t.Errorf("%+v", sum)
		}
		testenv.EqualSlices(t, bands(), before, "the bands are", "they were")
		checkHealthy(t, s)
	})
}

func TestRepairRemovesBandsOfWorkspacesThatAreGone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s, faulty := openFaulty(t, d)
		add(t, s, user(t, s, "ann"), "", "the blue harbour")
		kept := d.Query(t, `SELECT count(*) FROM minhash_bands`)
		for i, workspace := range []string{"-7", "999998", "999999"} {
			d.Exec(t, `INSERT INTO minhash_bands (workspace, band, memory) VALUES (`+workspace+`, 1, 2)`)
			d.Exec(t, fmt.Sprintf(`INSERT INTO minhash_bands (workspace, band, memory) VALUES (%s, 2, %d)`, workspace,
				i))
		}
		check := func(repair bool, repaired int64, says string) {
			t.Helper()
			sum := checkIntegrity(t, s, repair)
			if sum.Found != 1 || sum.Repaired != repaired ||
				!strings.HasPrefix(sum.Inconsistencies[0].Detail, "6 rows") ||
				!strings.HasPrefix(sum.Inconsistencies[0].Repair, says) {
				t.Errorf("%+v", sum)
			}
		}
		check(false, 0, "")
		faulty.failWith("DELETE FROM minhash_bands")
		check(true, 0, "could not be repaired")
		faulty.fault.Store(nil)
		check(true, 1, "removed")
		testenv.EqualSlices(t, d.Query(t, `SELECT count(*) FROM minhash_bands`), kept, "bands are left of")
		checkHealthy(t, s)
	})
}

// The row of a memory is checked even if what belongs to it cannot be read.
func TestCheckComparesRowsBesideUnreadableTables(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s, faulty := openFaulty(t, d)
		ann := user(t, s, "ann")
		for _, text := range []string{"the blue harbour", "the red harbour", "the green harbour"} {
			add(t, s, ann, "", text)
		}
		d.Exec(t, `UPDATE memories SET title = 'Behind the back'`)
		for text, kind := range map[string]string{"FROM generations": integrity.InconsistentVectors,
			"FROM versions": integrity.InconsistentVersions, "FROM attachments": integrity.InconsistentAttachments} {
			faulty.failWith(text)
			checksums, others := map[string]bool{}, 0 // of each memory that of the row, and that of its fields
			for _, f := range checkIntegrity(t, s, false).Inconsistencies {
				if strings.Contains(f.Detail, "checksum") {
					checksums[f.ID] = true
				} else if f.Kind == kind {
					others++
				}
			}
			if len(checksums) != 3 || others == 0 {
				t.Errorf("%s: found %d rows and %d other inconsistencies", text, len(checksums), others)
			}
		}
	})
}

func TestRepairThatWasCutOffIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s, faulty := openFaulty(t, d)
		ann := user(t, s, "ann")
		for _, text := range []string{"the blue harbour", "the red harbour", "the green harbour"} {
			flush(t, s, add(t, s, ann, "", text).WorkspaceID)
		}
		for n := int64(2); ; n++ {
			d.Exec(t, `DELETE FROM minhash_bands`)
			d.Exec(t, `DELETE FROM segment_pages`)
			d.Exec(t, `UPDATE atlases SET memories = 7`)
			d.Exec(t, `UPDATE memories SET hash = 7`)
			faulty.writes.Store(n)
			_, err := integrity.New(s).Check(ctx, integrity.Options{Repair: true})
			faulty.writes.Store(0)
			if err != nil && !errors.Is(err, errCutOff) {
				t.Fatal(err)
			}
			if sum := checkIntegrity(t, s, true); sum.Found != sum.Repaired || (sum.Found == 0) != (err == nil) {
				t.Errorf("after %d transactions: %+v", n-2, sum)
			}
			checkHealthy(t, s)
			if r := searchKeywords(t, s, ann, "harbour", loci.MemoryFilter{}); r.KeywordCandidates != 3 {
				t.Errorf("after %d transactions %d memories are found", n-2, r.KeywordCandidates)
			}
			if err == nil {
				return
			}
		}
	})
}
