package store_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A indexModel is a person's memories as they truly are, beside two stores on one database that index them.
type indexModel struct {
	t          *testing.T
	d          storetest.Database
	r          *rand.Rand
	stores     []*store.Store
	ann        *identity.Actor
	workspaces []loci.ID
	memories   map[loci.ID]map[int64]modelMemory // by workspace and rid
}

type modelMemory struct {
	loci.Memory
	workspace, atlas int64 // rids
	change           index.DocUpdate
}

func newIndexModel(t *testing.T, d storetest.Database, stores []*store.Store, seed uint64) *indexModel {
	m := &indexModel{t: t, d: d, r: rand.New(rand.NewPCG(seed, 1)), stores: stores,
		memories: map[loci.ID]map[int64]modelMemory{}}
	m.ann = user(t, stores[0], string(loci.NewID(stores[0].Now().Std())))
	m.workspaces = []loci.ID{"", team(t, stores[0], m.ann, nil), team(t, stores[0], m.ann, nil)}
	return m
}

func (m *indexModel) store() *store.Store { return m.stores[m.r.IntN(len(m.stores))] }

// text has few different words, so that scores tie now and then.
func (m *indexModel) text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = []string{"deploy", "deploys", "café", "数据库", "getUserName", "the", "v1.2.3", "alpha", "beta",
			"gamma", "delta"}[min(10, int(m.r.ExpFloat64()*4))]
	}
	return strings.Join(words, " ")
}

func (m *indexModel) create() {
	made := add(m.t, m.store(), m.ann, m.workspaces[m.r.IntN(3)], m.text(1+m.r.IntN(60)), func(x *loci.Memory) {
		x.Type, x.Title = loci.MemoryTypes[m.r.IntN(6)], m.text(m.r.IntN(4))
		x.Tags = []string{"red", "blue"}[:m.r.IntN(3)]
	})
	x := modelMemory{Memory: made}
	var rowID int64
	store.QueryRow(m.t, m.stores[0], `SELECT row_id, workspace, atlas FROM memories WHERE id = ?1`, made.ID, &rowID,
		&x.workspace, &x.atlas)
	x.change = index.DocUpdate{DocAttributes: index.DocAttributes{Memory: rowID, Atlas: x.atlas,
		Type: uint8(slices.Index(loci.MemoryTypes, made.Type)), Tags: made.Tags,
		Created: int64(made.CreatedAt)}, Document: index.Analyze(made.Title, made.Content)}
	if m.memories[made.WorkspaceID] == nil {
		m.memories[made.WorkspaceID] = map[int64]modelMemory{}
	}
	m.memories[made.WorkspaceID][rowID] = x
}

// pick returns one of the memories, if there is any.
func (m *indexModel) pick() (x modelMemory, ok bool) {
	var all []modelMemory
	for _, place := range m.memories {
		for _, x := range place {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b modelMemory) int { return cmp.Compare(a.change.Memory, b.change.Memory) })
	if len(all) == 0 {
		return x, false
	}
	return all[m.r.IntN(len(all))], true
}

const insertLogSQL = `INSERT INTO index_log (workspace, memory, atlas, type, status, tags, created_at, deleted,
		memories, bytes, document, verified, valid_until, group_id, position)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, FALSE, 0, 0, 0)`

// change gives a memory another state and other tags, as an update would.
func (m *indexModel) change() {
	x, ok := m.pick()
	if !ok {
		return
	}
	c := &x.change
	c.Status, c.Tags = uint8(m.r.IntN(3)), []string{"red", "blue"}[:m.r.IntN(3)]
	tags, _ := json.Marshal(c.Tags)
	m.raw(func(exec store.Exec) error {
		if err := exec(`UPDATE memories SET status = ?2, tags = ?3 WHERE row_id = ?1`, c.Memory, int(c.Status),
			string(tags)); err != nil {
			return err
		}
		return exec(insertLogSQL, x.workspace, c.Memory, x.atlas, int(c.Type), int(c.Status), string(tags), c.Created,
			false, 0, 0, c.Document.Encode())
	})
	m.memories[x.WorkspaceID][c.Memory] = x
}

func (m *indexModel) remove() {
	x, ok := m.pick()
	if !ok {
		return
	}
	m.raw(func(exec store.Exec) error {
		if err := exec(`DELETE FROM memories WHERE row_id = ?1`, x.change.Memory); err != nil {
			return err
		}
		return exec(insertLogSQL, x.workspace, x.change.Memory, x.atlas, 0, 0, "[]", 0, true, -1, -len(x.Content),
			[]byte{})
	})
	delete(m.memories[x.WorkspaceID], x.change.Memory)
}

func (m *indexModel) raw(f func(store.Exec) error) {
	m.t.Helper()
	if err := store.WriteRaw(m.store(), f); err != nil {
		m.t.Fatal(err)
	}
}

func (m *indexModel) fold() {
	for id := range m.memories {
		if m.r.IntN(4) > 0 {
			if err := m.store().Flush(ctx, id); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

func (m *indexModel) reopen() {
	i := m.r.IntN(len(m.stores))
	m.stores[i].Close()
	m.stores[i] = m.d.Open(m.t, store.Options{CacheBytes: 1 << m.r.IntN(24)})
}

func (m *indexModel) act() {
	switch n := m.r.IntN(20); {
	case n < 10:
		m.create()
	case n < 13:
		m.change()
	case n < 15:
		m.remove()
	case n < 19:
		m.fold()
	default:
		m.reopen()
	}
}

func (m *indexModel) filter() (f loci.MemoryFilter, s index.Filter) {
	s.Statuses = 1
	if m.r.IntN(2) == 0 {
		f.Include, s.Statuses = []loci.Include{loci.Include(loci.MemoryArchived), loci.Include(loci.MemorySuperseded)},
			7
	}
	if m.r.IntN(3) == 0 {
		f.Type, s.Types = []loci.MemoryType{loci.MemoryTypes[0], loci.MemoryTypes[3]}, 1|1<<3
	}
	if m.r.IntN(3) == 0 {
		f.Tags, s.Tags = loci.Tags{"red"}, []string{"red"}
	}
	if m.r.IntN(4) == 0 {
		for id := range m.memories {
			f.WorkspaceID = id
		}
	}
	return f, s
}

// expected ranks by views that were built at once from all that there is.
func (m *indexModel) expected(q query.Query, f loci.MemoryFilter, s index.Filter) (lines []string) {
	type hit struct {
		score float32
		rid   int64
		id    loci.ID
	}
	var hits []hit
	for id, place := range m.memories {
		if f.WorkspaceID != "" && f.WorkspaceID != id {
			continue
		}
		var changes []index.DocUpdate
		for _, x := range place {
			c := x.change
			c.Seq = int64(len(changes) + 1)
			changes = append(changes, c)
		}
		_, r, err := query.Search(index.NewSnapshot(nil).Apply(changes), index.NewCache(0), nil, q, s, 0, len(changes))
		if err != nil || len(r.Hits) != r.Total {
			m.t.Fatal(err)
		}
		for _, h := range r.Hits {
			hits = append(hits, hit{h.Score, h.Memory, place[h.Memory].ID})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.rid, b.rid))
	})
	for _, h := range hits {
		lines = append(lines, fmt.Sprintf("%s %.9g", h.id, h.score))
	}
	return lines
}

func (m *indexModel) check() {
	q := query.Parse(m.text(1 + m.r.IntN(5)))
	f, s := m.filter()
	want := m.expected(q, f, s)
	for i, st := range m.stores {
		got, total := store.KeywordHits(m.t, st, m.ann, q, f)
		if !slices.Equal(got, want) || total != len(want) {
			m.t.Fatalf("store %d finds %d\n%v\nwant %d\n%v", i, total, got, len(want), want)
		}
		found, err := store.Read(ctx, st, m.ann, func(tx *store.Tx) (retrieve.Result, error) {
			first, err := storetest.Search(tx, retrieve.Query{Keywords: q}, f, "", 2)
			if err != nil {
				return first, err
			}
			return storetest.Search(tx, retrieve.Query{Keywords: q}, f, first.Seen, 3)
		})
		if err != nil || found.KeywordCandidates != len(want) || found.HasMore != (len(want) > 5) ||
			len(found.Hits) != max(0, min(3, len(want)-2)) {
			m.t.Fatalf("a page of %d has %d, more %v: %v", found.KeywordCandidates, len(found.Hits), found.HasMore, err)
		}
		m.count(st)
	}
}

// count compares the counters with the rows.
func (m *indexModel) count(s *store.Store) {
	got, err := store.Read(ctx, s, m.ann, func(tx *store.Tx) (a loci.AccountStatus, err error) { return tx.Usage() })
	if err != nil {
		m.t.Fatal(err)
	}
	atlases, err := store.Read(ctx, s, m.ann, func(tx *store.Tx) ([]loci.Atlas, error) {
		list, err := tx.Atlases(store.AtlasFilter{Archived: true}, page.Request{Limit: 100})
		return list.Items, err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	memories, bytes := 0, 0
	for _, place := range m.memories {
		memories += len(place)
		for _, x := range place {
			bytes += len(x.Content)
		}
	}
	if got.Usage.Memories != int64(memories) || got.Usage.Storage.UsedBytes != int64(bytes) {
		m.t.Fatalf("%d memories of %d bytes, want %d of %d", got.Usage.Memories, got.Usage.Storage.UsedBytes, memories,
			bytes)
	}
	for _, a := range atlases {
		if int(a.MemoryCount) != len(m.memories[a.WorkspaceID]) {
			m.t.Fatalf("an atlas counts %d, want %d", a.MemoryCount, len(m.memories[a.WorkspaceID]))
		}
	}
}

func TestSearchesEqualAFreshIndexWhateverHappened(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		stores := []*store.Store{d.Open(t, store.Options{}), d.Open(t, store.Options{})}
		d.Check(t, func(r *rapid.T) {
			m := newIndexModel(t, d, stores, rapid.Uint64().Draw(r, "seed"))
			for range 12 { // of which most merge segments too
				for range 1 + m.r.IntN(12) {
					m.act()
				}
				m.check()
			}
		})
	})
}
