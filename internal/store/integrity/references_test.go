package integrity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A reference that flips in a row without a proof loses no row: what the row said is built again.
func TestFlippedReferencesOfDerivedRowsAreRepaired(t *testing.T) {
	t.Parallel()
	columns := []string{"index_log.memory", "index_log.atlas", "minhash_bands.memory", "minhash_bands.workspace"}
	for name, table := range sqldb.Tables() {
		class := integrity.Tables[name].Class
		if class == integrity.Derived || class == integrity.Transient && !table.HasChecksums() {
			for _, r := range table.References {
				columns = append(columns, name+"."+r.Columns[0])
			}
		}
	}
	d := storetest.Database{Engine: sqlite.Driver, Dir: storetest.NewDir(t)} // PostgreSQL keeps references
	s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "words"}})
	x := &damageTest{t, d, s, user(t, s, "ann")}
	records := []damaged{flushedMemory(x, "flushed"), loggedMemory(x, "logged")}
	for _, column := range columns {
		table, name, _ := strings.Cut(column, ".")
		d.Exec(t, `INSERT INTO operations (user_id, month, used) SELECT id, '2026-01', 1 FROM users WHERE TRUE
			ON CONFLICT DO NOTHING`)
		d.Exec(t, `INSERT INTO embedding_queue (memory, workspace, owner, is_long, due, attempts, error, failed_at)
			SELECT row_id, workspace, 1, FALSE, 8000000000000000, 0, '', 0 FROM memories WHERE TRUE ON CONFLICT DO NOTHING`)
		flush(t, s, records[0].ids[3]) // a repair may have moved it to the log
		checkHealthy(t, s)
		rows := len(d.Query(t, `SELECT 1 FROM `+table))
		d.Exec(t, fmt.Sprintf(`UPDATE %s SET %s = CASE typeof(%[2]s) WHEN 'integer' THEN %[2]s + 1048576
			ELSE %[2]s || 'x' END`, table, name))
		sum := checkIntegrity(t, s, true)
		if sum.Found != sum.Repaired || (sum.Found == 0) != (rows == 0) {
			t.Errorf("%s, %d rows: %+v", column, rows, sum)
		}
		if rows == 0 && integrity.Tables[table].Class == integrity.Derived {
			t.Errorf("%s has no row", table)
		}
		checkHealthy(t, s)
	}
	for _, r := range records {
		r.whole()
	}
}

// Derived rows stay while the row to which they refer may be lost.
func TestRepairKeepsDerivedRowsOfLostRows(t *testing.T) {
	t.Parallel()
	d := storetest.Database{Engine: sqlite.Driver, Dir: storetest.NewDir(t)}
	s := d.Open(t, store.Options{})
	ann := user(t, s, "ann")
	crew := team(t, s, ann, nil)
	add(t, s, ann, crew, "A sentence in the log")
	d.Exec(t, `DELETE FROM workspaces WHERE id = '`+string(crew)+`'`)
	before := d.Query(t, `SELECT seq FROM index_log`)
	sum := checkIntegrity(t, s, true)
	if !slices.ContainsFunc(sum.Inconsistencies, func(f integrity.Inconsistency) bool {
		return f.ID == "index_log" && strings.HasSuffix(f.Repair, integrity.KeepAdvice)
	}) {
		t.Errorf("%+v", sum)
	}
	if after := d.Query(t, `SELECT seq FROM index_log`); len(after) == 0 || !slices.Equal(after, before) {
		t.Errorf("the log has the rows %q, not %q", after, before)
	}
}

// A row of the index that names a memory of another workspace loses none, also beside damaged memories.
func TestIndexOfAnotherWorkspaceLosesNoMemory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		crew := team(t, s, ann, nil)
		moved, other := add(t, s, ann, "", "A sentence in the log"), add(t, s, ann, crew, "Another sentence of its own")
		d.Exec(t, `UPDATE index_log SET workspace = (SELECT workspace FROM memories WHERE id = '`+string(other.ID)+`')
			WHERE memory = (SELECT row_id FROM memories WHERE id = '`+string(moved.ID)+`')`)
		d.Exec(t, `UPDATE memories SET title = 'Behind the back' WHERE id = '`+string(other.ID)+`'`)
		sum := checkIntegrity(t, s, true)
		indexes := 0
		for _, f := range sum.Inconsistencies {
			if f.Kind == integrity.InconsistentReferences || f.Kind == integrity.InconsistentIndex && !f.Repaired {
				t.Errorf("%+v", f)
			}
			if f.Kind == integrity.InconsistentIndex {
				indexes++
			}
		}
		if indexes != 2 {
			t.Errorf("%+v", sum)
		}
	})
}
