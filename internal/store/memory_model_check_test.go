package store_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// check compares all that each of them sees with what is.
func (m *memoryModel) check() {
	for _, l := range m.all {
		l.Expired = l.ValidUntil != 0 && l.ValidUntil <= m.s.Now()
		m.checkMemory(l)
	}
	m.checkLists()
	m.checkSearch()
	m.checkCounters()
}

func (m *memoryModel) checkMemory(l *memoryState) {
	actor := m.below(5, "reader")
	got, err := m.service.GetMemory(ctx, m.people[actor], loci.GetMemory{MemoryID: l.ID})
	in := loci.ListVersions{MemoryID: l.ID, Paging: loci.Paging{Limit: loci.Limit(1 + m.below(5, "limit"))}}
	similar, alikeErr := m.service.SimilarMemories(ctx, m.people[actor],
		loci.SimilarMemories{MemoryID: l.ID, Limit: 100})
	if actor == stranger {
		_, versionsErr := m.service.ListVersions(ctx, m.people[actor], in)
		for _, err := range []error{err, versionsErr, alikeErr} {
			m.agree("read", loci.Memory{}, err, nil, loci.CodeNotFound)
		}
		return
	}
	m.agree("get", got.Memory, err, l, "")
	m.must(alikeErr)
	m.checkAlike(l, similar.Similar)
	versions := []loci.MemoryVersion{}
	for {
		page, err := m.service.ListVersions(ctx, m.people[actor], in)
		m.must(err)
		versions = append(versions, page.Versions...)
		if in.Cursor = loci.Cursor(page.NextCursor); in.Cursor == "" {
			break
		}
		if len(page.Versions) != int(in.Limit) {
			m.t.Fatalf("a page of %d has %d", in.Limit, len(page.Versions))
		}
	}
	slices.Reverse(versions)
	if g, w := asJSON(versions), asJSON(l.versions); g != w {
		m.t.Fatalf("by pages of %d the versions are\n%s\nwant\n%s", in.Limit, g, w)
	}
}

// checkAlike holds what is called similar to the texts. Near copies may be
// missed, equal texts may not, unless there are too many.
func (m *memoryModel) checkAlike(l *memoryState, got []loci.Similarity) {
	own := minhash.NewShingles(l.Content)
	scores := map[loci.ID]float64{}
	for i, a := range got {
		o := m.id(a.ID)
		if o == nil || o == l || o.Status != loci.MemoryActive {
			m.t.Fatalf("%s is called similar to %s", a.ID, l.ID)
		}
		if s := math.Round(own.Jaccard(minhash.NewShingles(o.Content))*1e4) / 1e4; s != a.Score ||
			s < minhash.SimilarityThreshold || i > 0 && s > got[i-1].Score {
			m.t.Fatalf("%q and %q: %v, want %v", l.Content, o.Content, got, s)
		}
		scores[a.ID] = a.Score
	}
	for _, o := range m.all {
		equal := o != l && o.Status == loci.MemoryActive && o.Content == l.Content && own.Jaccard(own) == 1
		if equal && scores[o.ID] != 1 && len(got) < 5 {
			m.t.Fatalf("%q has an equal that is not called similar: %v", l.Content, got)
		}
	}
}

// filter draws what of the crew is asked for.
func (m *memoryModel) filter() (f loci.MemoryFilter, s index.Filter, keep func(*memoryState) bool) {
	f.WorkspaceID = m.crew
	f.Include = rapid.SampledFrom([][]loci.Include{nil, {loci.IncludeArchived}, {loci.IncludeSuperseded},
		{loci.IncludeSuperseded, loci.IncludeArchived}}).Draw(m.t, "include")
	if m.below(3, "narrow") == 0 {
		f.Type, s.Types = []loci.MemoryType{loci.TypeFact, loci.TypeTask}, 1|1<<3
	}
	if m.below(3, "tagged") == 0 {
		f.Tags, s.Tags = loci.Tags{"red"}, []string{"red"}
	}
	since, until := m.period(&f)
	s.Since, s.Until, s.Statuses = int64(since), int64(until), 1
	for i, status := range loci.MemoryStatuses {
		if slices.Contains(f.Include, loci.Include(status)) {
			s.Statuses |= 1 << i
		}
	}
	return f, s, func(l *memoryState) bool {
		return (l.Status == loci.MemoryActive || slices.Contains(f.Include, loci.Include(l.Status))) &&
			(f.Tags == nil || slices.Contains(l.Tags, "red")) &&
			(f.Type == nil || slices.Contains(f.Type, l.Type)) &&
			l.CreatedAt >= since && (until == 0 || l.CreatedAt < until)
	}
}

// period draws times of creation for a filter, from those of the memories.
func (m *memoryModel) period(f *loci.MemoryFilter) (since, until loci.Time) {
	for _, x := range []*loci.Moment{&f.Since, &f.Until} {
		if len(m.all) > 0 && m.below(4, "bounded") == 0 {
			*x = loci.Moment(m.all[m.below(len(m.all), "bound")].CreatedAt.String())
		}
	}
	since, until, err := f.Period(m.s.Now())
	m.must(err)
	return since, until
}

func (m *memoryModel) checkLists() {
	f, _, keep := m.filter()
	var want []loci.ID
	for _, l := range m.all {
		if keep(l) {
			want = append([]loci.ID{l.ID}, want...)
		}
	}
	for actor, p := range m.people[:stranger] {
		if got := ids(m.test, m.s, p, f, 100); !slices.Equal(got, want) {
			m.t.Fatalf("%d lists %v, want %v", actor, got, want)
		}
	}
	m.checkChanges(f, want)
	var verified []loci.ID
	for _, l := range m.all {
		if l.Status == loci.MemoryActive && l.VerifiedAt != 0 {
			verified = append([]loci.ID{l.ID}, verified...)
		}
	}
	list, err := store.Read(m.test.Context(), m.s, m.people[2], func(tx *store.Tx) (page.List[loci.Memory], error) {
		return memorydb.ListVerified(tx, loci.MemoryFilter{WorkspaceID: m.crew}, page.Request{Limit: 100})
	})
	if err != nil || !slices.EqualFunc(list.Items, verified, func(got loci.Memory, id loci.ID) bool {
		return got.ID == id
	}) {
		m.t.Fatalf("verified are %v, want %v: %v", list.Items, verified, err)
	}
}

// checkChanges compares the list by the last change, page by page, with memories in any order.
func (m *memoryModel) checkChanges(f loci.MemoryFilter, want []loci.ID) {
	slices.SortFunc(want, func(a, b loci.ID) int {
		x, y := m.id(a), m.id(b)
		return cmp.Or(cmp.Compare(y.UpdatedAt, x.UpdatedAt), cmp.Compare(b, a))
	})
	if m.below(2, "anywhere") == 0 {
		f.WorkspaceID = "" // the readers have no other memory of these kinds
	}
	in := loci.ListMemories{MemoryFilter: f, Sort: loci.OrderUpdated,
		Paging: loci.Paging{Limit: loci.Limit(1 + m.below(5, "limit"))}}
	var got []loci.ID
	for {
		page, err := m.service.ListMemories(ctx, m.people[2], in)
		m.must(err)
		for _, x := range page.Memories {
			got = append(got, x.ID)
		}
		in.Limit = 3
		if in.Cursor = loci.Cursor(page.NextCursor); in.Cursor == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("by the last change %v, want %v", got, want)
	}
}

// checkSearch compares hits and scores with an index built at once from the truth.
func (m *memoryModel) checkSearch() {
	f, s, _ := m.filter()
	q := query.Parse(rapid.SampledFrom([]string{"tide", "noon rope", "日本", "knots keel", "é mast", "hull"}).Draw(m.t,
		"query"))
	var changes []index.DocUpdate
	byRow := map[int64]loci.ID{}
	for i, l := range m.all {
		byRow[l.rowID] = l.ID
		changes = append(changes, index.DocUpdate{Seq: int64(i + 1), Document: index.Analyze(l.Title, l.Content),
			DocAttributes: index.DocAttributes{Memory: l.rowID, Atlas: l.atlas,
				Created: int64(l.CreatedAt), Type: uint8(slices.Index(loci.MemoryTypes, l.Type)),
				Status: uint8(slices.Index(loci.MemoryStatuses, l.Status)), Tags: l.Tags,
				Verified: l.VerifiedAt != 0, ValidUntil: int64(l.ValidUntil)}})
	}
	_, r, err := query.Search(index.NewSnapshot(nil).Apply(changes), index.NewCache(0), nil, q, s,
		int64(m.s.Now()),
		len(changes)+1)
	m.must(err)
	var want []string
	for _, h := range r.Hits {
		want = append(want, fmt.Sprintf("%s %.9g", byRow[h.Memory], h.Score))
	}
	got, total := store.KeywordHits(m.test, m.s, m.people[3], q, f)
	if !slices.Equal(got, want) || total != len(want) {
		m.t.Fatalf("found %d\n%v\nwant\n%v", total, got, want)
	}
}

func (m *memoryModel) checkCounters() {
	usage, err := store.Read(ctx, m.s, m.people[owner], func(tx *store.Tx) (loci.AccountStatus, error) {
		return tx.Usage()
	})
	m.must(err)
	bytes, counts, bands := len("tide elsewhere"), map[loci.ID]int{}, 0
	for _, l := range m.all {
		if l.Status == loci.MemoryActive {
			bands += len(minhash.Bands(l.Content))
		}
		bytes += len(l.Content)
		counts[l.AtlasID]++
	}
	if u := usage.Usage; u.Memories != int64(len(m.all)+1) || u.Storage.UsedBytes != int64(bytes) {
		m.t.Fatalf("%d memories of %d bytes, want %d of %d", u.Memories, u.Storage.UsedBytes, len(m.all)+1, bytes)
	}
	var off int
	store.QueryRow(m.test, m.s,
		`SELECT count(*) FROM index_log c JOIN memories e ON e.row_id = c.memory AND e.workspace = c.workspace
			JOIN workspaces w ON w.row_id = e.workspace
		WHERE w.id = ?1 AND c.seq = (SELECT max(x.seq) FROM index_log x WHERE x.memory = c.memory
			AND x.workspace = c.workspace) AND (c.status <> e.status OR c.type <> e.type OR c.tags <> e.tags
			OR c.verified <> (e.verified_at > 0) OR c.valid_until <> e.valid_until OR c.created_at <> e.created_at)`,
		m.crew, &off)
	if off != 0 {
		m.t.Fatalf("the log of changes tells something else of %d memories", off)
	}
	var kept int
	store.QueryRow(m.test, m.s,
		`SELECT count(*) FROM minhash_bands s JOIN workspaces w ON w.row_id = s.workspace WHERE w.id = ?1`, m.crew,
		&kept)
	if kept != bands {
		m.t.Fatalf("%d bands are kept, want %d", kept, bands)
	}
	for _, id := range m.atlases {
		a, err := m.service.GetAtlas(ctx, m.people[2], loci.GetAtlas{AtlasID: id})
		m.must(err)
		if a.Atlas.MemoryCount != counts[id] {
			m.t.Fatalf("an atlas counts %d, want %d", a.Atlas.MemoryCount, counts[id])
		}
	}
}
