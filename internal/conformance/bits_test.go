package conformance_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A bit that flips in a page of a source table is found, or the row has its former values after a repair.
func TestFlippedBitsAreFoundOrHarmless(t *testing.T) {
	t.Parallel()
	d := storetest.Database{Engine: sqlite.Driver, Dir: storetest.NewDir(t)}
	w, _ := fillTables(t, d)
	testenv.NoError(t, w.Store.Close())
	file := testenv.Must(os.ReadFile(filepath.Join(d.Dir, sqlite.FileName)))(t)
	pageSize := int(binary.BigEndian.Uint16(file[16:]))
	random := rand.New(rand.NewPCG(rand.Uint64(), 1))
	bits := 2
	if testenv.Whole() {
		bits = 20
	}
	for name, table := range integrity.Tables {
		if table.Class != integrity.Source {
			continue
		}
		root := testenv.Must(strconv.Atoi(d.Query(t, `SELECT rootpage FROM sqlite_schema WHERE name = '`+name+`'`)[0]))(t)
		pages := pagesOfTree(file, pageSize, root)
		want := sourceRows(t, d, name)
		for range bits {
			page := pages[random.IntN(len(pages))]
			at, bit := usedByte(file, pageSize, page, random), byte(1)<<random.IntN(8)
			t.Run(name+" "+strconv.Itoa(at)+" "+strconv.Itoa(int(bit)), func(t *testing.T) {
				t.Parallel()
				damaged := storetest.Database{Engine: d.Engine, Dir: t.TempDir()}
				flipped := slices.Clone(file)
				flipped[at] ^= bit
				testenv.NoError(t, os.WriteFile(filepath.Join(damaged.Dir, sqlite.FileName), flipped, 0o600))
				if checkTwice(t, damaged) {
					return
				}
				testenv.EqualSlices(t, sourceRows(t, damaged, name), want, "rows of a database that passes a check")
			})
		}
	}
}

// checkTwice repairs a database and checks it again. It reports whether damage was found that is left, or the database
// is refused.
func checkTwice(t *testing.T, d storetest.Database) (found bool) {
	t.Helper()
	s, err := d.TryOpen(store.Options{})
	if err != nil {
		return true
	}
	defer s.Close()
	for _, repair := range []bool{true, false} {
		sum, err := integrity.New(s).Check(t.Context(), integrity.Options{Repair: repair})
		if found = err != nil || sum.Found > 0; err != nil {
			return true
		}
	}
	return found
}

// sourceRows returns the checksums of the rows of a table: in a database that passes a check they stand for the rows.
func sourceRows(t *testing.T, d storetest.Database, table string) []string {
	t.Helper()
	return d.Query(t, `SELECT CAST(row_checksum AS TEXT) FROM `+table)
}

// pagesOfTree returns the numbers of the pages of a tree (https://sqlite.org/fileformat2.html#b_tree_pages).
func pagesOfTree(file []byte, pageSize, page int) []int {
	header := (page - 1) * pageSize
	kind, cells := file[header], int(binary.BigEndian.Uint16(file[header+3:]))
	pages := []int{page}
	if kind != 2 && kind != 5 { // a leaf
		return pages
	}
	children := []uint32{binary.BigEndian.Uint32(file[header+8:])}
	for i := range cells {
		cell := int(binary.BigEndian.Uint16(file[header+12+2*i:]))
		children = append(children, binary.BigEndian.Uint32(file[header+cell:]))
	}
	for _, child := range children {
		pages = append(pages, pagesOfTree(file, pageSize, int(child))...)
	}
	return pages
}

// usedByte returns the place of a byte of a cell, or of the header, of a page.
func usedByte(file []byte, pageSize, page int, random *rand.Rand) int {
	header := (page - 1) * pageSize
	content := int(binary.BigEndian.Uint16(file[header+5:]))
	return header + content + random.IntN(pageSize-content)
}
