package integrity_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// onSQLiteFile fills a database in a file with memories, and closes it. The pages of each
// tree are then in the file, in which damage does as a disk does.
func onSQLiteFile(t *testing.T, f func(t *testing.T, d storetest.Database, actor *identity.Actor, ids []loci.ID)) {
	t.Helper()
	d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
	s := d.Open(t, store.Options{})
	ann := user(t, s, "ann")
	var ids []loci.ID
	for i := range 150 {
		m := add(t, s, ann, "", fmt.Sprintf("Memory %d %s", i, strings.Repeat("filler ", 60)))
		set(t, s, ann, m.ID, func(m *loci.Memory) { m.Content = "Another text, " + m.Content })
		ids = append(ids, m.ID)
	}
	flush(t, s, record(t, s, ann, ids[0]).WorkspaceID)
	checkHealthy(t, s)
	testenv.NoError(t, s.Close())
	f(t, d, ann, ids)
}

// damage changes bytes of a database that is closed.
func corruptFile(t *testing.T, d storetest.Database, change func(file []byte, pageSize int)) {
	t.Helper()
	storetest.MarkWritten(t)
	path := filepath.Join(d.Dir, sqlite.FileName)
	file := testenv.Must(os.ReadFile(path))(t)
	change(file, int(file[16])<<8|int(file[17]))
	testenv.NoError(t, os.WriteFile(path, file, 0o600))
}

// rootPage returns the page at which a table or an index begins.
func rootPage(t *testing.T, d storetest.Database, name string) int {
	t.Helper()
	n := testenv.Must(strconv.Atoi(d.Query(t, `SELECT rootpage FROM sqlite_schema WHERE name = '`+name+`'`)[0]))(t)
	return n
}

// kindsOf returns the kinds and ids of inconsistencies.
func kindsOf(sum integrity.Report) (list []string) {
	for _, f := range sum.Inconsistencies {
		list = append(list, f.Kind+" "+f.ID)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestCheckRebuildsDamagedDatabaseIndex(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memories_newest", "sqlite_autoindex_memories_1", "memories_source",
		"index_log_workspace"} {
		for _, how := range []string{"a bit", "the root page", "another page"} {
			if how != "the root page" && strings.HasSuffix(name, "_source") ||
				name == "index_log_workspace" && how != "the root page" {
				continue // it is one page
			}
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				onSQLiteFile(t, func(t *testing.T, d storetest.Database, actor *identity.Actor, ids []loci.ID) {
					damageAnIndex(t, d, actor, ids, name, how)
				})
			})
		}
	}
}

// Each index has as many entries as rows, so SQLite names it by its rows only. It ends its check after 100 of them.
func TestRepairRebuildsEachIndexOfWhichManyRowsAreMissing(t *testing.T) {
	t.Parallel()
	onSQLiteFile(t, func(t *testing.T, d storetest.Database, _ *identity.Actor, _ []loci.ID) {
		for _, table := range []string{"memories", "versions"} {
			d.Exec(t, fmt.Sprintf(`CREATE INDEX test_%[1]s ON %[1]s (title);
				PRAGMA writable_schema = ON;
				UPDATE sqlite_schema SET sql = 'CREATE INDEX test_%[1]s ON %[1]s (content)' WHERE name = 'test_%[1]s';
				PRAGMA writable_schema = RESET`, table))
		}
		s := d.Open(t, store.Options{})
		want := []string{"structure test_memories", "structure test_versions"}
		if sum := checkIntegrity(t, s, true); !slices.Equal(kindsOf(sum), want) || sum.Repaired != 2 {
			t.Errorf("%+v", sum)
		}
		checkHealthy(t, s)
	})
}

// A structureDB returns these results of its checks, one after the other.
type structureDB struct {
	sqldb.DB
	checks [][]sqldb.StructureDamage
}

func (d *structureDB) CheckStructure(context.Context) (list []sqldb.StructureDamage, err error) {
	if len(d.checks) == 0 {
		return nil, sqldb.NotChecked("the indexes")
	}
	list, d.checks = d.checks[0], d.checks[1:]
	return list, nil
}

func (d *structureDB) KeepEvidence(context.Context, []string) (string, error) { return "", nil }

func (d *structureDB) RebuildIndexes(context.Context, []string, bool) (map[string]error, error) {
	return nil, nil
}

func TestCheckReportsDamageThatItFindsAfterARepair(t *testing.T) {
	t.Parallel()
	index := func(name string) []sqldb.StructureDamage {
		return []sqldb.StructureDamage{{Name: name, IsIndex: true, Detail: "row 1 missing from index " + name}}
	}
	db := &structureDB{checks: [][]sqldb.StructureDamage{index("a"), index("b")}}
	s := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}.Open(t,
		store.Options{Intercept: storetest.Intercept(db, &db.DB)})
	sum := checkIntegrity(t, s, true)
	if !slices.Equal(kindsOf(sum), []string{"structure a", "structure b"}) || sum.Repaired != 1 {
		t.Errorf("%+v", sum)
	}
}

func TestCheckSaysWhatADatabaseCannotCheck(t *testing.T) {
	t.Parallel()
	db := &structureDB{}
	s := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}.Open(t,
		store.Options{Intercept: storetest.Intercept(db, &db.DB)})
	testenv.EqualSlices(t, checkHealthy(t, s).NotChecked, []string{"the indexes"})
}

func TestRepairKeepsDamageApartFromUnusedPages(t *testing.T) {
	t.Parallel()
	pages := sqldb.StructureDamage{IsUnused: true, Detail: "Page 7: never used"}
	list := sqldb.StructureDamage{Detail: "Freelist: size"}
	db := &structureDB{checks: [][]sqldb.StructureDamage{{pages, list}, {list}}}
	s := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}.Open(t,
		store.Options{Intercept: storetest.Intercept(db, &db.DB)})
	sum := checkIntegrity(t, s, true)
	if sum.Found != 2 || !sum.Inconsistencies[0].Repaired || sum.Inconsistencies[1].Repaired {
		t.Errorf("%+v", sum)
	}
}

func damageAnIndex(t *testing.T, d storetest.Database, actor *identity.Actor, ids []loci.ID, name, how string) {
	t.Helper()
	root := rootPage(t, d, name)
	statement := d.Query(t, `SELECT COALESCE(sql, '') FROM sqlite_schema WHERE name = '`+name+`'`)
	corruptFile(t, d, func(file []byte, size int) {
		if how == "the root page" {
			clear(file[(root-1)*size : root*size])
			return
		}
		at := (root - 1) * size
		cell := at + int(binary.BigEndian.Uint16(file[at+12:])) // the first of an interior page
		leaf := (int(binary.BigEndian.Uint32(file[cell:])) - 1) * size
		if how == "another page" {
			clear(file[leaf : leaf+size])
			return
		}
		cell = leaf + int(binary.BigEndian.Uint16(file[leaf+8:]))
		file[cell+20] ^= 4 // within the id
	})
	s := d.Open(t, store.Options{})
	if how != "a bit" && name == "memories_newest" {
		before := sqldb.CorruptionErrors()
		if _, err := store.Read(ctx, s, actor, func(tx *store.Tx) (page.List[loci.Memory], error) {
			return memorydb.List(tx, loci.MemoryFilter{}, page.Request{Limit: 1000})
		}); err == nil || sqldb.CorruptionErrors() == before {
			t.Errorf("told %v, and nobody counted it", err)
		}
	}
	sum := checkIntegrity(t, s, false)
	if !slices.Contains(kindsOf(sum), "structure "+name) || sum.Memories != int64(len(ids)) {
		t.Fatalf("%+v", sum)
	}
	for _, f := range sum.Inconsistencies {
		if f.ID == name && !strings.Contains(f.Repair, "--repair") {
			t.Errorf("the check advises %q", f.Repair)
		}
	}
	if sum := checkIntegrity(t, s, true); sum.Found != sum.Repaired {
		t.Errorf("%+v", sum)
	}
	checkHealthy(t, s)
	testenv.Len(t, memoriesOf(t, s, actor), len(ids), "memories are listed")
	add(t, s, actor, "", "Another one")
	testenv.EqualSlices(t, d.Query(t, `SELECT COALESCE(sql, '') FROM sqlite_schema WHERE name = '`+name+`'`), statement,
		"the index is", "it was")
	testenv.Equal(t, checkHealthy(t, s).Memories, int64(len(ids)+1))
}

func memoriesOf(t *testing.T, s *store.Store, actor *identity.Actor) []loci.ID {
	t.Helper()
	return ids(t, s, actor, loci.MemoryFilter{}, 1000)
}

func TestMemoriesOnALostPageAreNamedAndTheOthersInspected(t *testing.T) {
	t.Parallel()
	onSQLiteFile(t, func(t *testing.T, d storetest.Database, actor *identity.Actor, all []loci.ID) {
		hit := false
		corruptFile(t, d, func(file []byte, size int) { // a leaf with the newest texts of some
			for at := size; at < len(file) && !hit; at += size {
				if page := file[at : at+size]; page[0] == 13 &&
					bytes.Contains(page, []byte("Another text, Memory 77 ")) &&
					bytes.Contains(page, []byte("Another text, Memory 78 ")) {
					clear(page)
					hit = true
				}
			}
		})
		if !hit {
			t.Fatal("no page has them")
		}
		s := d.Open(t, store.Options{})
		for _, repair := range []bool{false, true} {
			sum := checkIntegrity(t, s, repair)
			kinds := kindsOf(sum)
			if !slices.Contains(kinds, "structure memories") || !slices.Contains(kinds, "rows "+string(all[77])) ||
				slices.Contains(kinds, "rows "+string(all[5])) {
				t.Errorf("repair %v: %q", repair, kinds)
			}
			if sum.Memories != int64(len(all)) || sum.Found == sum.Repaired {
				t.Errorf("repair %v: looked at %d of %d memories, repaired %d of %d", repair, sum.Memories, len(all),
					sum.Repaired, sum.Found)
			}
			for _, f := range sum.Inconsistencies {
				if strings.Contains(f.Detail, "filler") {
					t.Errorf("an inconsistency says %q", f.Detail)
				}
			}
		}
		if r := searchKeywords(t, s, actor, "another", loci.MemoryFilter{}); r.KeywordCandidates < len(all)-20 {
			t.Errorf("after the repair %d are found", r.KeywordCandidates)
		}
	})
}

// Where an index and a row of its table are damaged, nothing proves which of both is right.
func TestRepairKeepsValuesOfIndexBesideDamagedRows(t *testing.T) {
	t.Parallel()
	onSQLiteFile(t, func(t *testing.T, d storetest.Database, _ *identity.Actor, all []loci.ID) {
		d.Exec(t, `CREATE INDEX test_titles ON memories (title);
			UPDATE memories SET title = 'In the index' WHERE id = '`+string(all[3])+`';
			PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET sql = 'CREATE INDEX test_other ON memories (content)', name = 'test_other'
				WHERE name = 'test_titles';
			PRAGMA writable_schema = RESET`)
		s := d.Open(t, store.Options{})
		for n := range 2 {
			sum := checkIntegrity(t, s, true)
			kinds := kindsOf(sum)
			if !slices.Contains(kinds, "structure test_other") || !slices.Contains(kinds, "rows "+string(all[3])) ||
				sum.Repaired != 0 {
				t.Errorf("%+v", sum)
			}
			files := testenv.Must(filepath.Glob(filepath.Join(d.Dir, "loci.evidence-*.jsonl")))(t)
			testenv.Len(t, files, n+1)
			text := string(testenv.Must(os.ReadFile(files[0]))(t))
			if !strings.Contains(text, `"inIndex":["In the index"]`) || !strings.Contains(text, "Memory 3 filler") {
				t.Errorf("the file has %.300s", text)
			}
			testenv.Equal(t, testenv.Must(os.Stat(files[0]))(t).Mode(), os.FileMode(0o600))
		}
	})
}

// A page that is written over by a well-formed one: nothing but checksums shows that.
func TestFlippedBitsInTextsAndVersionsAreDamage(t *testing.T) {
	t.Parallel()
	onSQLiteFile(t, func(t *testing.T, d storetest.Database, _ *identity.Actor, all []loci.ID) {
		flips := 0
		corruptFile(t, d, func(file []byte, size int) {
			for _, text := range []string{"Another text, Memory 31 filler", "Memory 32 filler"} {
				for at := 0; ; {
					n := bytes.Index(file[at:], []byte(text))
					if n < 0 {
						break
					}
					at += n + len(text)
					file[at-2] ^= 1
					flips++
				}
			}
		})
		if flips < 2 {
			t.Fatalf("%d flips", flips)
		}
		s := d.Open(t, store.Options{})
		for range 2 { // a repair leaves the evidence
			sum := checkIntegrity(t, s, true)
			kinds := kindsOf(sum)
			if !slices.Contains(kinds, "rows "+string(all[31])) ||
				!slices.Contains(kinds, "versions "+string(all[32])) ||
				sum.Found == sum.Repaired {
				t.Errorf("%+v", sum)
			}
		}
	})
}

// A repair also ends if a damaged table loses what it writes. A check lists the first inconsistencies, and counts all.
func TestRepairEndsWhenItsWritesAreLost(t *testing.T) {
	t.Parallel()
	d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
	s := d.Open(t, store.Options{})
	ann := user(t, s, "ann")
	runConcurrently(1100, func(i int) error {
		_, err := tryAdd(s, ann, "", fmt.Sprintf("memory %d stands beside memory %d and before memory %d", i, 7*i,
			11*i))
		return err
	})
	testenv.NoError(t, writeRaw(s, func(exec func(string, ...any) error) error {
		return errors.Join(exec(`DELETE FROM minhash_bands`), exec(`CREATE TRIGGER lost AFTER INSERT ON minhash_bands
			BEGIN DELETE FROM minhash_bands WHERE workspace = new.workspace AND band = new.band
			AND memory = new.memory; END`))
	}))
	for range 2 {
		sum := checkIntegrity(t, s, true)
		if sum.Found != 1 || sum.Repaired != 0 || !strings.Contains(sum.Inconsistencies[0].Detail, "; and 1099 more") {
			t.Errorf("%+v", sum)
		}
	}
	d.Exec(t, `DROP TRIGGER lost`)
	d.Exec(t, `UPDATE memories SET title = title || 'x'`)
	if sum := checkIntegrity(t, s, true); sum.Found != 1100 || sum.Repaired != 0 ||
		len(sum.Inconsistencies) != 1000 {
		t.Errorf("found %d, repaired %d, listed %d", sum.Found, sum.Repaired, len(sum.Inconsistencies))
	}
}

// A search shows at run time what an inspection would find.
func TestSearchOfDamagedIndexIsCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		for _, damage := range []string{`UPDATE segment_pages SET data = segments.header FROM segments`,
			`DELETE FROM segment_pages`} {
			s := d.Open(t, store.Options{})
			ann := user(t, s, fmt.Sprint("ann", len(damage)))
			flush(t, s, add(t, s, ann, "", "Found by its harbour").WorkspaceID)
			s.Close()
			d.Exec(t, damage)
			s = d.Open(t, store.Options{})
			before := indexdb.CorruptReads()
			_, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
				return storetest.Search(tx, retrieve.Query{Keywords: query.Parse("harbour")}, loci.MemoryFilter{}, "",
					10)
			})
			if err == nil || indexdb.CorruptReads() == before {
				t.Errorf("%s: told %v, and nobody counted it", damage, err)
			}
			s.Close()
		}
	})
}

// The readiness page shows damage of a table that no search reads.
func TestCheckReadsTheTablesWithoutWhichNobodyIsServed(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"users", "api_keys", "workspaces"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			onSQLiteFile(t, func(t *testing.T, d storetest.Database, _ *identity.Actor, _ []loci.ID) {
				page := rootPage(t, d, table)
				s := d.Open(t, store.Options{})
				testenv.NoError(t, s.Ping(ctx))
				f, err := os.OpenFile(filepath.Join(d.Dir, sqlite.FileName), os.O_RDWR, 0)
				if err == nil {
					zeros := make([]byte, 4096)
					_, err = f.WriteAt(zeros, int64(page-1)*int64(len(zeros)))
				}
				if err = errors.Join(err, f.Close()); err != nil {
					t.Fatal(err)
				}
				for range 100 { // a connection may hold the page for one more
					if err = s.Ping(ctx); err != nil {
						break
					}
				}
				if err == nil || !strings.Contains(err.Error(), table) {
					t.Errorf("told %v", err)
				}
			})
		})
	}
}
