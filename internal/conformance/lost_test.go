package conformance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// Each row to which others refer, and that is gone, is named. A repair keeps the rows that refer to it.
func TestLostRowsAreNamedAndKept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w, _ := fillTables(t, d)
		if d.Address != "" {
			d.Exec(t, dropReferences)
		}
		orphans := func(table string, r sqldb.Reference) string {
			equal := make([]string, len(r.Columns))
			for i, column := range r.Columns {
				equal[i] = "p." + r.Key[i] + " = c." + column
			}
			return d.Count(t, table+" c WHERE c."+r.Columns[0]+" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "+r.Table+
				" p WHERE "+strings.Join(equal, " AND ")+")")
		}
		for name, table := range sqldb.Tables() {
			for _, r := range table.References {
				testenv.Equal(t, orphans(name, r), "0", "rows of", name, "lack one of", r.Table)
			}
		}
		for name, table := range sqldb.Tables() {
			for _, r := range table.References {
				if integrity.Tables[r.Table].Class == integrity.Source {
					key, column := r.Key[len(r.Key)-1], r.Columns[len(r.Columns)-1]
					d.Exec(t, fmt.Sprintf(`DELETE FROM %s WHERE %s = (SELECT min(c.%s) FROM %s c)`, r.Table, key, column, name))
				}
			}
		}
		count := func() (counts string) {
			for _, name := range sqldb.TableNames() {
				if integrity.Tables[name].Class == integrity.Source {
					counts += name + " " + d.Count(t, name) + ", "
				}
			}
			return counts
		}
		before := count()
		for range 2 {
			sum := testenv.Must(integrity.New(w.Store).Check(t.Context(), integrity.Options{Repair: true}))(t)
			var text strings.Builder
			for _, f := range sum.Inconsistencies {
				if !f.Repaired && f.Repair != "" { // those of rows without a checksum have other kinds
					fmt.Fprintln(&text, f.Detail)
				}
			}
			tried := 0
			for name, table := range sqldb.Tables() {
				for _, r := range table.References {
					if integrity.Tables[r.Table].Class != integrity.Source || orphans(name, r) == "0" {
						continue
					}
					tried++
					if part := " of " + name + " refers to the row "; !strings.Contains(text.String(), part) {
						t.Errorf("no finding has %q", part)
					}
				}
			}
			if tried < 20 {
				t.Errorf("only %d references were tried", tried)
			}
			testenv.Equal(t, count(), before, "after a repair there are the rows")
		}
	})
}
