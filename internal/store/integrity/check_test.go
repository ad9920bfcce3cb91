package integrity_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
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
		testenv.Equal(t, checkHealthy(t, s).Memories, 0, "an empty store has", "memories")
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
			testenv.Must(purge.New(s).PurgeMemory(ctx, loci.ID(all[0]), true))(t)
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

// A sample sees what is wrong with what it looks at, and counts it.
func TestSampleFindsDamage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		x := newMailTest(t, d, s, "")
		for i := range 60 {
			add(t, s, x.ann, x.crew, fmt.Sprintf("Number %d is as good as any", i))
		}
		startSession(t, s, x.ann, x.crew, "Tidy the shed").fill("lanterns")
		flush(t, s, x.crew)
		sample := func(found int64, kinds ...string) {
			t.Helper()
			before, damage := countInconsistencies(), integrity.UnrepairableCount()
			sum, err := integrity.New(s).Sample(ctx, 10)
			if err != nil || sum.Found != found || sum.Repaired != 0 || countInconsistencies() < before+found {
				t.Errorf("%+v, %v", sum, err)
			}
			for _, kind := range kinds {
				if !slices.Contains(kindsOf(sum), kind) {
					t.Errorf("a sample finds %v, not %s", kindsOf(sum), kind)
				}
			}
			if kinds == nil && integrity.UnrepairableCount() < damage+found {
				t.Errorf("%d of damage", integrity.UnrepairableCount()-damage)
			}
		}
		crew := string(x.crew)
		sample(0, []string{}...)
		d.Exec(t, `UPDATE memories SET hash = hash + 1`)
		d.Exec(t, `UPDATE candidates SET atlas = 0`)
		d.Exec(t, `UPDATE receipts SET workspace = -1`)
		d.Exec(t, `DELETE FROM minhash_bands`)
		d.Exec(t, `DELETE FROM segment_pages`)
		sample(5, "rows "+crew, "sessions "+crew, "messages "+crew, "sketches "+crew, "index "+crew)
		if sum := checkIntegrity(t, s, true); sum.Found != 5 || sum.Repaired != 5 {
			t.Errorf("%+v", sum)
		}
		checkHealthy(t, s)
		d.Exec(t, `UPDATE memories SET title = title || 'x'`)
		n := testenv.Must(strconv.ParseInt(d.Count(t, `memories`), 10, 64))(t)
		sample(n)
	})
}

// Each sample of a checker goes on where its last one ended, in each table.
func TestSamplesReachAllRows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		add(t, s, user(t, s, "ann"), "", "The harbour")
		var rows []string
		for n := range 150 {
			rows = append(rows, fmt.Sprintf("('model %d')", n))
		}
		d.Write(t, `INSERT INTO generations (name) VALUES `+strings.Join(rows, ", "))
		d.Exec(t, `UPDATE generations SET name = 'damaged' WHERE name = 'model 149'`)
		c, before := integrity.New(s), integrity.InconsistencyCounts()["rows"]
		for round, want := range []int64{0, 1, 0, 1} {
			sum := testenv.Must(c.Sample(ctx, 10))(t)
			testenv.Equal(t, sum.Found, want, "inconsistencies are found in round", round, kindsOf(sum))
		}
		if n := integrity.InconsistencyCounts()["rows"]; n < before+2 {
			t.Errorf("%d rows are counted after %d", n, before)
		}
	})
}

// A sample runs often beside the calls of users.
func TestSampleReadsFewRows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s, faulty := openFaulty(t, d)
		x := newMailTest(t, d, s, "")
		for i := range 30 {
			add(t, s, x.ann, x.crew, fmt.Sprintf("Number %d is as good as any", i))
			x.send(x.from, loci.SendMessage{ToAgentID: x.to.AgentID, Content: "once more"})
			startSession(t, s, x.ann, x.crew, fmt.Sprintf("Tidy shed %d", i))
		}
		largest := map[string]int{}
		faulty.count = func(q string, rows int) {
			if strings.Contains(q, "octet_length") {
				t.Error("a query with a time limit reads all texts")
			}
			for _, table := range []string{"FROM sessions", "FROM messages"} {
				if strings.Contains(q, table) && !strings.Contains(q, "row_checksum IS DISTINCT FROM") {
					largest[table] = max(largest[table], rows)
				}
			}
		}
		for range 5 {
			if sum, err := integrity.New(s).Sample(ctx, 10); err != nil || sum.Found != 0 {
				t.Fatal(sum, err)
			}
		}
		want := map[string]int{"FROM sessions": 10, "FROM messages": 10}
		if !maps.Equal(largest, want) {
			t.Errorf("queries of a sample return %v rows", largest)
		}
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
			return searchKeywords(t, s, ann, "harbour", loci.MemoryFilter{}).KeywordCandidates == 450
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
		testenv.EqualSlices(t, d.Query(t, `SELECT count(*) FROM index_log`), []string{"0"}, "the repair has written",
			"rows")
	})
}

// A newer server reindexes while this program checks or reindexes.
func TestRepairKeepsTheLabelOfANewerAnalyzer(t *testing.T) {
	t.Parallel()
	for statement, before := range map[string]int{"SELECT band, memory": analysis.Version,
		"SELECT e.version, e.title": analysis.Version - 1} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, d storetest.Database) {
				s, faulty := openFaulty(t, d)
				add(t, s, user(t, s, "ann"), "", "the harbour")
				d.Exec(t, fmt.Sprintf(`UPDATE keyword_indexes SET analyzer = %d`, before))
				d.Exec(t, `DELETE FROM index_log`)
				d.Exec(t, `UPDATE atlases SET memories = 1, bytes = 11`)
				var once sync.Once
				faulty.fail(nil, func(q string, _ []any) bool {
					if strings.Contains(q, statement) {
						once.Do(func() {
							d.Exec(t, fmt.Sprintf(`UPDATE keyword_indexes SET analyzer = %d`, analysis.Version+1))
						})
					}
					return false
				})
				sum := checkIntegrity(t, s, true)
				if sum.Found != 1 || sum.Repaired != 0 ||
					!strings.HasSuffix(sum.Inconsistencies[0].Repair, "use the newer program") {
					t.Errorf("%+v", sum)
				}
				want := []string{fmt.Sprint(analysis.Version + 1)}
				testenv.EqualSlices(t, d.Query(t, `SELECT analyzer FROM keyword_indexes`), want,
					"the index is of analyzer")
			})
		})
	}
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

// countInconsistencies counts what samples of this process have found.
func countInconsistencies() (n int64) {
	for _, of := range integrity.InconsistencyCounts() {
		n += of
	}
	return n
}
