package integrity_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

// busyStore makes random writes of all kinds, with flushes between them.
func busyStore(t *testing.T, s *store.Store, actor *identity.Actor, places []string, n int,
	seed uint64) (all []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	text := func() string {
		words := make([]string, 1+r.IntN(30))
		for i := range words {
			words[i] = []string{"deploy", "café", "数据库", "getUserName", "the", "v1.2.3", "alpha", "gamma",
				"naïve"}[r.IntN(9)]
		}
		return strings.Join(words, " ")
	}
	one := func() loci.ID { return loci.ID(all[r.IntN(len(all))]) }
	for i := range n {
		switch k := r.IntN(20); {
		case k < 8 || len(all) < 4:
			m := add(t, s, actor, loci.ID(places[r.IntN(len(places))]), text(), func(m *loci.Memory) {
				m.Type, m.Tags = loci.MemoryTypes[r.IntN(len(loci.MemoryTypes))],
					[]string{"red", "blue", "ärger"}[:r.IntN(4)]
			})
			all = append(all, string(m.ID))
		case k < 10:
			set(t, s, actor, one(), func(m *loci.Memory) { m.Content += "\n" + text() })
		case k < 12:
			set(t, s, actor, one(), func(m *loci.Memory) { m.Content, m.Tags = text(), nil })
		case k < 13:
			review(t, s, actor, one(), func(m *loci.Memory) { m.ValidUntil = loci.Time(r.IntN(9)) })
		case k < 15:
			set(t, s, actor, one(), func(m *loci.Memory) {
				if m.Status == loci.MemoryActive {
					m.Status = loci.MemoryArchived
				} else if m.SupersededBy == "" {
					m.Status = loci.MemoryActive
				}
			})
		case k < 16:
			old, by := record(t, s, actor, one()), record(t, s, actor, one())
			if old.Status == loci.MemoryActive && by.Status == loci.MemoryActive && old.ID != by.ID &&
				old.WorkspaceID == by.WorkspaceID {
				supersede(t, s, actor, old.ID, by.ID)
			}
		case k < 18:
			id := one()
			remove(t, s, actor, id)
			all = slices.DeleteFunc(all, func(x string) bool { return loci.ID(x) == id })
		case i%3 == 0:
			flush(t, s, record(t, s, actor, one()).WorkspaceID)
		}
	}
	return all
}

func TestHealthyStoreHasNoInconsistencies(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		if sum := checkHealthy(t, s); sum.Memories != 0 {
			t.Errorf("an empty store has %d memories", sum.Memories)
		}
		if sum, err := integrity.New(s).Sample(ctx, 10); err != nil || sum.Memories != 0 {
			t.Error(sum, err)
		}
		ann := user(t, s, "ann")
		places := []string{"", string(team(t, s, ann, nil))}
		n := 400
		if d.Dir == "" {
			n = 150
		}
		var all []string
		for seed := range uint64(3) {
			all = append(all, busyStore(t, s, ann, places, n, seed)...)
			if sum := checkHealthy(t, s); sum.Memories != int64(len(all)) || sum.Workspaces != 2 {
				t.Fatalf("%+v, of %d memories", sum, len(all))
			}
			if _, err := integrity.New(s).PurgeMemory(ctx, loci.ID(all[0]), true); err != nil {
				t.Fatal(err)
			}
			all = all[1:]
			checkHealthy(t, s)
		}
		for range 20 {
			if sum, err := integrity.New(s).Sample(ctx, 7); err != nil || sum.Found != 0 || sum.Workspaces != 1 {
				t.Fatal(sum, err)
			}
		}
	})
}

// A corruption is damage that statements do, and the inconsistencies that a check must report.
type corruption struct {
	name    string
	corrupt []string // statements; ?1 is the row of the memory, ?2 its workspace, ?3 bytes that are nothing
	kind    string   // which of the memories: flushed, logged or old
	found   []string // the kinds, with ! where nothing can be repaired
}

var corruptions = []corruption{
	{"title", []string{`UPDATE memories SET title = 'Behind the back' WHERE row_id = ?1`}, "flushed",
		[]string{"rows!"}},
	{"title in the log", []string{`UPDATE memories SET title = 'Behind the back' WHERE row_id = ?1`}, "logged",
		[]string{"rows!"}},
	{"source", []string{`UPDATE memories SET source_uri = 'https://example.com' WHERE row_id = ?1`}, "flushed",
		[]string{"rows!"}},
	{"group", []string{`UPDATE memories SET source_group = 'another' WHERE row_id = ?1`}, "flushed", []string{"rows!"}},
	{"evidence", []string{`UPDATE memories SET evidence = 'Behind the back' WHERE row_id = ?1`}, "logged",
		[]string{"rows!"}},
	{"confidence", []string{`UPDATE memories SET confidence = 0.5 WHERE row_id = ?1`}, "logged", []string{"rows!"}},
	{"tags", []string{`UPDATE memories SET tags = '["purple"]' WHERE row_id = ?1`}, "flushed", []string{"rows!"}},
	{"type", []string{`UPDATE memories SET type = 4 WHERE row_id = ?1`}, "flushed", []string{"rows!"}},
	{"review", []string{`UPDATE memories SET verified_at = 5, valid_until = 7 WHERE row_id = ?1`}, "logged",
		[]string{"rows!"}},
	{"content",
		[]string{
			`UPDATE memories SET content = 'Another text altogether, and a longer one than what stood there'
				WHERE row_id = ?1`}, "flushed", []string{"counters", "rows!", "versions!"}},
	{"row gone", []string{`DELETE FROM memories WHERE row_id = ?1`}, "flushed",
		[]string{"counters", "index", "sketches"}},
	{"logged row gone", []string{`DELETE FROM memories WHERE row_id = ?1`}, "logged",
		[]string{"counters", "index", "sketches"}},
	{"change lost", []string{`DELETE FROM index_log WHERE memory = ?1`}, "logged", []string{"counters", "index"}},
	{"change says gone", []string{`UPDATE index_log SET deleted = TRUE, document = ?3 WHERE memory = ?1`}, "logged",
		[]string{"index"}},
	{"change broken", []string{`UPDATE index_log SET document = ?3 WHERE memory = ?1`}, "logged", []string{"index"}},
	{"group in the log", []string{`UPDATE index_log SET group_id = 5, position = 7 WHERE memory = ?1`}, "logged",
		[]string{"index"}},
	{"segments lost", []string{`DELETE FROM segments WHERE workspace = ?2`}, "flushed", []string{"index"}},
	{"pages lost", []string{
		`DELETE FROM segment_pages WHERE segment IN (SELECT row_id FROM segments WHERE workspace = ?2)`}, "flushed",
		[]string{"index"}},
	{"pages broken", []string{
		`UPDATE segment_pages SET data = ?3 WHERE segment IN (SELECT row_id FROM segments WHERE workspace = ?2)`},
		"flushed", []string{"index"}},
	{"head broken", []string{
		`UPDATE segments SET header = ?3 WHERE row_id = (SELECT min(row_id) FROM segments WHERE workspace = ?2)`},
		"flushed", []string{"index"}},
	{"the dead rise", []string{`UPDATE segments SET tombstones = ?4 WHERE workspace = ?2`}, "flushed",
		[]string{"index"}},
	{"state lost", []string{`DELETE FROM keyword_indexes WHERE workspace = ?2`}, "flushed", []string{"index"}},
	{"counter", []string{`UPDATE atlases SET memories = memories + 3 WHERE workspace = ?2`}, "flushed",
		[]string{"counters"}},
	{"bytes in the log", []string{`UPDATE index_log SET bytes = bytes - 1 WHERE memory = ?1`}, "logged",
		[]string{"counters"}},
	{"bands lost", []string{`DELETE FROM minhash_bands WHERE memory = ?1`}, "flushed", []string{"sketches"}},
	{"bands too many", []string{
		`INSERT INTO minhash_bands (workspace, band, memory) VALUES (?2, 1, ?1), (?2, 2, 999999), (999999, 1, 1)`},
		"flushed", []string{"sketches"}},
	{"hash", []string{`UPDATE memories SET hash = hash + 1 WHERE row_id = ?1`}, "flushed", []string{"rows"}},
	{"replacement forgets", []string{`UPDATE memories SET supersedes = '[]' WHERE workspace = ?2`}, "old",
		[]string{"links"}},
	{"old one forgets", []string{`UPDATE memories SET superseded_by = '' WHERE row_id = ?1`}, "old", []string{"links"}},
	{"link to nowhere", []string{`UPDATE memories SET superseded_by = 'nobody' WHERE row_id = ?1`}, "old2",
		[]string{"links"}},
	{"link of the living", []string{`UPDATE memories SET superseded_by = id WHERE row_id = ?1`}, "flushed",
		[]string{"links"}},
	{"list broken", []string{`UPDATE memories SET supersedes = '{' WHERE row_id = ?1`}, "flushed", []string{"links"}},
	{"purge cut off", []string{`INSERT INTO metadata (name, value) VALUES ('purge', 'unfinished')`}, "flushed",
		[]string{"rows"}},
	{"evidence of a version", []string{`UPDATE versions SET evidence = 'Behind the back' WHERE memory = ?1`}, "flushed",
		[]string{"versions!"}},
	{"tag of a version", []string{`UPDATE versions SET tags = '["purple"]' WHERE memory = ?1`}, "logged",
		[]string{"versions!"}},
	{"text of a version", []string{
		`UPDATE versions SET content = 'Behind the back', prefix_len = NULL WHERE memory = ?1`}, "flushed",
		[]string{"versions!"}},
	{"version beyond", []string{`UPDATE versions SET prefix_len = 999999 WHERE memory = ?1 AND version = 2`}, "many",
		[]string{"versions!"}},
	{"version within a character", []string{`UPDATE versions SET prefix_len = 2 WHERE memory = ?1 AND version = 2`},
		"many2", []string{"versions!"}},
	{"version of two minds",
		[]string{`UPDATE versions SET content = '', prefix_len = 1 WHERE memory = ?1 AND version = 2`}, "many3",
		[]string{"versions!"}},
	{"version lost", []string{`DELETE FROM versions WHERE memory = ?1 AND version = 2`}, "many4",
		[]string{"versions!"}},
	{"first version lost", []string{`DELETE FROM versions WHERE memory = ?1 AND version = 1`}, "many5",
		[]string{"versions!"}},
	{"version of the future", []string{`UPDATE memories SET version = 3 WHERE row_id = ?1`}, "many6",
		[]string{"rows!", "versions!"}},
	{"type that is none", []string{`UPDATE memories SET type = 60 WHERE row_id = ?1`}, "logged", []string{"rows!"}},
}

func TestDamageIsFoundAndRepaired(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		crew := team(t, s, ann, nil)
		broken := int64(0) // what stays so
		for i, x := range corruptions {
			actor := checkRepair(t, s, ann, crew, fmt.Sprint("case", i), strings.TrimRight(x.kind, "23456"))
			if sum := checkIntegrity(t, s, false); sum.Found != broken {
				t.Fatalf("before %s there are %d inconsistencies: %v", x.name, sum.Found, sum.Inconsistencies)
			}
			var rowID, workspace int64
			queryRow(t, s, `SELECT row_id, workspace FROM memories WHERE id = ?1`, actor, &rowID, &workspace)
			corruptRow(t, s, x, rowID, workspace)
			sum := checkIntegrity(t, s, true)
			kinds := map[string]bool{}
			for _, f := range sum.Inconsistencies {
				if k := f.Kind; f.Repaired {
					kinds[k] = true
				} else if f.ID == string(actor) {
					if kinds[k+"!"] = true; !strings.Contains(f.Repair, "from a backup") {
						t.Errorf("%s: of %s the repair says %q", x.name, k, f.Repair)
					}
				}
				if text, _ := json.Marshal(f); strings.Contains(string(text), "sentence") ||
					f.ID == "" && x.name != "bands too many" && x.name != "purge cut off" {
					t.Errorf("an inconsistency says %s", text)
				}
			}
			if got := sortedKeys(kinds); !slices.Equal(got, x.found) {
				t.Errorf("%s: found %q, not %q: %v", x.name, got, x.found, sum.Inconsistencies)
			}
			for _, kind := range x.found {
				if strings.HasSuffix(kind, "!") {
					broken++
				}
			}
			if sum := checkIntegrity(t, s, false); sum.Found != broken {
				t.Fatalf("after %s there are %d inconsistencies: %v", x.name, sum.Found, sum.Inconsistencies)
			}
			if x.name == "type that is none" {
				continue // a search that meets it cannot say what it is
			}
			kept := add(t, s, ann, crew, fmt.Sprintf("Search works after case%d", i))
			if r := searchKeywords(t, s, ann, fmt.Sprintf("search works after case%d", i),
				store.Filter{}); len(r.Hits) == 0 || r.Hits[0].Memory.ID != kept.ID {
				t.Errorf("after %s a search finds %v", x.name, r.Hits)
			}
		}
	})
}

func sortedKeys(m map[string]bool) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func corruptRow(t *testing.T, s *store.Store, x corruption, rowID, workspace int64) {
	t.Helper()
	err := writeRaw(s, func(exec func(string, ...any) error) error {
		for _, q := range x.corrupt {
			args := []any{}
			for i, arg := range []any{rowID, workspace, []byte{0xff, 1}, []byte{}} {
				if n := fmt.Sprint("?", i+1); strings.Contains(q, n) {
					args = append(args, arg)
					q = strings.ReplaceAll(q, n, fmt.Sprint("?", len(args)))
				}
			}
			if err := exec(q, args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(x.name, err)
	}
}

// checkRepair makes memories, the last one of them to be damaged, and returns it.
func checkRepair(t *testing.T, s *store.Store, actor *identity.Actor, crew loci.ID, name, of string) loci.ID {
	t.Helper()
	var ids []loci.ID
	for i := range 3 {
		m := add(t, s, actor, crew, fmt.Sprintf("é %s number %d has a sentence of its own", name, i))
		set(t, s, actor, m.ID, func(m *loci.Memory) { m.Content += " and more" })
		ids = append(ids, m.ID)
	}
	switch of {
	case "many":
		for range 2 {
			set(t, s, actor, ids[1], func(m *loci.Memory) { m.Content += " é" })
		}
	case "old":
		supersede(t, s, actor, ids[1], ids[0])
	}
	if of == "logged" {
		return ids[1]
	}
	flush(t, s, crew)
	set(t, s, actor, ids[0], func(m *loci.Memory) { m.Tags = []string{"dead", "before"} })
	flush(t, s, crew)
	add(t, s, actor, crew, "A sentence in the log, of "+name)
	return ids[1]
}

// A sample sees what is wrong with what it looks at, and counts it.
func TestSampleFindsDamage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		at := ""
		for i := range 60 {
			at = string(add(t, s, ann, "", fmt.Sprintf("Number %d is as good as any", i)).WorkspaceID)
		}
		flush(t, s, loci.ID(at))
		d.Exec(t, `UPDATE memories SET hash = hash + 1`)
		before, damage := integrity.InconsistencyCount(), integrity.UnrepairableCount()
		sum, err := integrity.New(s).Sample(ctx, 10)
		if err != nil || sum.Found != 10 || sum.Repaired != 0 || integrity.InconsistencyCount() < before+10 {
			t.Errorf("%+v, %v", sum, err)
		}
		d.Exec(t, `UPDATE memories SET title = title || 'x'`)
		if sum, err := integrity.New(s).Sample(ctx, 10); err != nil || sum.Found != 10 ||
			integrity.UnrepairableCount() < damage+10 {
			t.Errorf("%+v, %v: %d of damage", sum, err, integrity.UnrepairableCount()-damage)
		}
		d.Exec(t, `UPDATE memories SET title = substr(title, 1, length(title) - 1)`)
		if sum := checkIntegrity(t, s, true); sum.Found != 60 || sum.Repaired != 60 {
			t.Errorf("%+v", sum)
		}
		checkHealthy(t, s)
	})
}

func TestOpenReindexesEarlierAnalyzer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		for i := range 450 {
			add(t, s, ann, "", fmt.Sprint("the harbour of number ", i))
		}
		s.Close()
		d.Exec(t, fmt.Sprintf(`UPDATE keyword_indexes SET analyzer = %d`, analysis.Version-1))
		// As if the earlier analyzer had seen no word.
		d.Exec(t, `DELETE FROM index_log`)
		d.Exec(t, `DELETE FROM segments`)
		s = d.Open(t, store.Options{})
		waittest.Until(t, func() bool {
			return searchKeywords(t, s, ann, "harbour", store.Filter{}).KeywordCandidates == 450
		})
	})
}

func TestRepairKeepsAnIndexOfANewerAnalyzer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		add(t, s, user(t, s, "ann"), "", "the harbour")
		d.Exec(t, fmt.Sprintf(`UPDATE keyword_indexes SET analyzer = %d`, analysis.Version+1))
		// As if the newer analyzer had seen no word.
		d.Exec(t, `DELETE FROM index_log`)
		d.Exec(t, `UPDATE atlases SET memories = 1, bytes = 11`)
		sum := checkIntegrity(t, s, true)
		if sum.Found != 1 || sum.Repaired != 0 ||
			!strings.HasSuffix(sum.Inconsistencies[0].Repair, "use the newer program") {
			t.Errorf("%+v", sum)
		}
		if rows := d.Query(t, `SELECT count(*) FROM index_log`); !slices.Equal(rows, []string{"0"}) {
			t.Errorf("the repair has written %v rows", rows)
		}
	})
}

func TestEachDocumentOfASegmentIsReportedWhenAllDiffer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		elsewhere := add(t, s, bob, "", "text")
		var last loci.Memory
		for i := range 11 {
			last = add(t, s, ann, "", fmt.Sprintf("Number %d is as good as any", i))
		}
		flush(t, s, last.WorkspaceID)
		d.Exec(t, fmt.Sprintf(`UPDATE memories SET atlas = (SELECT row_id FROM atlases WHERE id = '%s')
			WHERE id <> '%s'`, elsewhere.AtlasID, elsewhere.ID)) // an attribute of each document
		sum := checkIntegrity(t, s, false)
		ids := slices.DeleteFunc(kindsOf(sum), func(id string) bool { return !strings.HasPrefix(id, "index ") })
		if len(ids) != 11 {
			t.Errorf("%v", ids)
		}
	})
}

func TestProgramRefusesAnIndexOfANewerAnalyzer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		add(t, s, user(t, s, "ann"), "", "the harbour")
		s.Close()
		d.Exec(t, fmt.Sprintf(`UPDATE keyword_indexes SET analyzer = %d`, analysis.Version+1))
		if s, err := d.TryOpen(store.Options{}); err == nil || !strings.Contains(err.Error(), "use a newer loci") {
			t.Errorf("opened with %v", err)
			if err == nil {
				s.Close()
			}
		}
	})
}

// The bands of near duplicates are read for so many memories at a time.
func TestBandWindowsCoverEveryMemory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		var last loci.Memory
		for i := range 24 {
			last = add(t, s, ann, "", fmt.Sprintf("Number %d is as good as any", i))
		}
		for _, window := range []int{1, 2, 5, 8, 23, 24, 25} {
			sum, err := integrity.New(s).Check(ctx, integrity.WithBandWindow(integrity.Options{}, window))
			if err != nil || sum.Found != 0 || sum.Memories != 24 {
				t.Errorf("windows of %d: %+v, %v", window, sum, err)
			}
		}
		d.Exec(t, `DELETE FROM memories WHERE id = '`+string(last.ID)+`'`)
		sum, err := integrity.New(s).Check(ctx, integrity.WithBandWindow(integrity.Options{Repair: true}, 4))
		if sketches := slices.DeleteFunc(sum.Inconsistencies, func(f integrity.Inconsistency) bool {
			return f.Kind != integrity.InconsistentBands
		}); err != nil || len(sketches) != 1 {
			t.Errorf("%+v, %v", sum, err)
		}
		checkHealthy(t, s)
	})
}
