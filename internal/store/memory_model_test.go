package store_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A memoryState is a memory as it truly is, with all that it was.
type memoryState struct {
	loci.Memory
	rowID, atlas int64
	versions     []loci.MemoryVersion // oldest first; the last is the present one
}

// memoryModel are the memories of a team by the rules of the contract, beside the
// service that is to keep them.
type memoryModel struct {
	t       *rapid.T
	test    *testing.T
	d       storetest.Database
	s       *store.Store
	now     *fakeClock
	service *service.Service

	people    []*loci.Actor // the owner, an admin, two members, a stranger
	crew      string
	atlases   []string
	all       []*memoryState // in the order of their creation
	elsewhere string         // a memory of the owner's, in another workspace
}

const (
	owner, admin, stranger = 0, 1, 4
)

func newMemoryModel(t *rapid.T, test *testing.T, d storetest.Database, s *store.Store, now *fakeClock) *memoryModel {
	m := &memoryModel{t: t, test: test, d: d, now: now, s: s}
	m.serve()
	for range 5 {
		m.people = append(m.people, user(test, s, loci.NewID(now.time())))
	}
	m.crew = team(test, s, m.people[owner], map[*loci.Actor]loci.Role{m.people[admin]: loci.RoleAdmin,
		m.people[2]: loci.RoleMember, m.people[3]: loci.RoleMember})
	for _, name := range []loci.Name{"One", "Two"} {
		a, err := m.service.CreateAtlas(ctx, m.people[owner], loci.CreateAtlas{Name: name, WorkspaceID: m.crew})
		m.must(err)
		m.atlases = append(m.atlases, a.Atlas.ID)
	}
	m.elsewhere = add(test, s, m.people[owner], "", "tide elsewhere").ID
	return m
}

func (m *memoryModel) serve() {
	m.service = service.New(service.Options{Store: m.s, Plan: loci.Plans[loci.PlanSelfHosted], Clock: m.now.time})
}

func (m *memoryModel) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *memoryModel) below(n int, what string) int { return rapid.IntRange(0, n-1).Draw(m.t, what) }

// text draws from few words, so that texts equal, begin with and resemble each other.
func (m *memoryModel) text(maximum int) string {
	var b strings.Builder
	for range 1 + m.below(maximum, "words") {
		b.WriteString(rapid.SampledFrom([]string{"tide ", "noon ", "rope\n", "日本 ", "é", "mast ", "🚢 ", "\n",
			"# Knots\n", "tide noon rope mast keel hull "}).Draw(m.t, "word"))
	}
	return cmp.Or(strings.TrimLeft(b.String(), "\n"), "keel")
}

func (m *memoryModel) tags() []string {
	return rapid.SampledFrom([][]string{{}, {"red"}, {"red", "blue"}}).Draw(m.t, "tags")
}

func (m *memoryModel) kind() loci.MemoryType {
	return rapid.SampledFrom(loci.MemoryTypes).Draw(m.t, "kind")
}

func tagsOf(list []string) loci.Tags {
	tags := loci.Tags{}
	for _, t := range list {
		tags = append(tags, loci.Tag(t))
	}
	return tags
}

// agree compares an answer with what it should be; nil is a refusal with that code.
func (m *memoryModel) agree(what string, got loci.Memory, err error, want *memoryState, code loci.Code) {
	m.t.Helper()
	if code != "" {
		if !loci.Is(err, code) {
			m.t.Fatalf("%s: %v, want %s", what, err, code)
		}
		return
	}
	m.must(err)
	if g, w := asJSON(got), asJSON(want.Memory); g != w {
		m.t.Fatalf("%s: got\n%s\nwant\n%s", what, g, w)
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// may is the refusal that a change of a memory by somebody gets before its state
// is looked at: none, out of reach, or somebody else's.
func (m *memoryModel) may(actor int, l *memoryState) loci.Code {
	switch {
	case actor == stranger:
		return loci.CodeNotFound
	case actor > admin && l.CreatedBy != m.people[actor].UserID:
		return loci.CodeForbidden
	}
	return ""
}

func (m *memoryModel) created() {
	actor := m.below(5, "who")
	a := m.below(2, "atlas")
	in := loci.CreateMemory{Content: loci.Content(m.text(6)), AtlasID: m.atlases[a], Type: m.kind(),
		Tags: tagsOf(m.tags()),
		OnDuplicate: rapid.SampledFrom([]loci.OnDuplicate{"", "", loci.OnDuplicateReturn,
			loci.OnDuplicateVersion}).Draw(m.t, "wish")}
	if len(m.all) > 0 && m.below(3, "a copy") == 0 {
		in.Content = loci.Content(m.all[m.below(len(m.all), "original")].Content)
	}
	if m.below(2, "sourced") == 0 {
		in.Source = &loci.Source{Name: "logbook", URI: rapid.SampledFrom([]loci.SourceText{"/1", "/2"}).Draw(m.t,
			"uri")}
	}
	out, err := m.service.CreateMemory(ctx, m.people[actor], in)
	if actor == stranger {
		m.agree("create", out.Memory.Memory, err, nil, loci.CodeNotFound)
		return
	}
	var twin *memoryState
	for _, l := range m.all {
		sourced := in.OnDuplicate == loci.OnDuplicateVersion && in.Source != nil && l.Source != nil &&
			*l.Source == *in.Source
		equal := in.OnDuplicate == loci.OnDuplicateReturn && l.Content == string(in.Content)
		if twin == nil && l.Status == loci.MemoryActive && l.AtlasID == in.AtlasID && (sourced || equal) {
			twin = l
		}
	}
	switch {
	case twin != nil && in.OnDuplicate == loci.OnDuplicateReturn:
		m.agree("return", out.Memory.Memory, err, twin, "")
		return
	case twin != nil:
		code := m.may(actor, twin)
		if code == "" && twin.Content != string(in.Content) {
			m.next(twin, actor, func(n *loci.Memory) {
				n.Content, n.Title, n.Type, n.Tags = string(in.Content), loci.DeriveTitle(string(in.Content)), in.Type,
					in.Tags.Unique()
			})
		}
		m.agree("version", out.Memory.Memory, err, twin, code)
		return
	}
	m.must(err)
	l := &memoryState{Memory: loci.Memory{ID: out.Memory.ID, WorkspaceID: m.crew, AtlasID: in.AtlasID,
		Content: string(in.Content), Title: loci.DeriveTitle(string(in.Content)),
		Type: in.Type, Tags: in.Tags.Unique(), Status: loci.MemoryActive, Version: 1, CreatedBy: m.people[actor].UserID,
		CreatedAt: m.s.Now(), UpdatedAt: m.s.Now(), Source: in.Source}}
	m.agree("create", out.Memory.Memory, err, l, "")
	duplicate := ""
	for _, o := range m.all {
		if duplicate == "" && o.Status == loci.MemoryActive && o.AtlasID == l.AtlasID && o.Content == l.Content {
			duplicate = o.ID
		}
	}
	if out.Memory.DuplicateOf != duplicate {
		m.t.Fatalf("a duplicate of %q, want %q (%s)", out.Memory.DuplicateOf, duplicate, in.OnDuplicate)
	}
	store.QueryRow(m.test, m.s, `SELECT row_id, atlas FROM memories WHERE id = ?1`, l.ID, &l.rowID, &l.atlas)
	m.all = append(m.all, l)
	l.versions = []loci.MemoryVersion{m.version(l, actor)}
}

// version is the present one of a memory that somebody has just made.
func (m *memoryModel) version(l *memoryState, actor int) loci.MemoryVersion {
	return loci.MemoryVersion{Version: l.Version, Title: l.Title, Content: l.Content, Type: l.Type, Tags: l.Tags,
		Status: l.Status, VerifiedAt: l.VerifiedAt,
		VerifiedBy: l.VerifiedBy, Evidence: l.Evidence, Confidence: l.Confidence, ValidUntil: l.ValidUntil,
		CreatedBy: m.people[actor].UserID, CreatedAt: l.UpdatedAt}
}

// next makes a version by f, unless that changes nothing.
func (m *memoryModel) next(l *memoryState, actor int, f func(*loci.Memory)) {
	before := asJSON(l.Memory)
	f(&l.Memory)
	if asJSON(l.Memory) == before {
		return
	}
	l.Version, l.UpdatedAt = l.Version+1, m.s.Now()
	l.Expired = l.ValidUntil != 0 && l.ValidUntil <= m.s.Now()
	l.versions = append(l.versions, m.version(l, actor))
}

func (m *memoryModel) id(id string) *memoryState {
	for _, l := range m.all {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// act lets somebody do something to a memory.
func (m *memoryModel) act() {
	m.now.add(time.Millisecond)
	for _, o := range m.all {
		o.Expired = o.ValidUntil != 0 && o.ValidUntil <= m.s.Now()
	}
	if len(m.all) == 0 || m.below(6, "create") == 0 {
		m.created()
		return
	}
	actor, l := m.below(5, "who"), m.all[m.below(len(m.all), "memory")]
	if m.below(3, "his own") > 0 { // else members are refused most of the time
		actor = slices.IndexFunc(m.people, func(p *loci.Actor) bool { return p.UserID == l.CreatedBy })
	}
	caller := m.people[actor]
	code, active := m.may(actor, l), l.Status == loci.MemoryActive
	conflict := func(fine bool) loci.Code {
		if code == "" && !fine {
			return loci.CodeStateConflict
		}
		return code
	}
	var out loci.OneMemory
	var err error
	what := rapid.SampledFrom([]string{"update", "append", "append", "verify", "supersede", "archive", "restore",
		"restore", "delete", "revert", "revert"}).Draw(m.t, "what")
	switch what {
	case "update":
		in := loci.UpdateMemory{MemoryID: l.ID}
		f := m.changes(&in)
		out, err = m.service.UpdateMemory(ctx, caller, in)
		if code = conflict(active); code == "" {
			m.next(l, actor, f)
		}
	case "append":
		text := m.text(3)
		out, err = m.service.AppendMemory(ctx, caller, loci.AppendMemory{MemoryID: l.ID, Content: loci.Content(text)})
		if code = conflict(active); code == "" {
			m.next(l, actor, func(n *loci.Memory) { n.Content = strings.TrimSuffix(n.Content, "\n") + "\n" + text })
		}
	case "verify":
		in := loci.VerifyMemory{MemoryID: l.ID}
		f := m.reviews(&in, actor)
		out, err = m.service.VerifyMemory(ctx, caller, in)
		if code == "" {
			m.next(l, actor, f)
		}
	case "supersede":
		m.superseded(actor, l)
		return
	case "archive":
		out, err = m.service.ArchiveMemory(ctx, caller, loci.ArchiveMemory{MemoryID: l.ID})
		if code = conflict(active); code == "" {
			m.next(l, actor, func(n *loci.Memory) { n.Status, n.ArchivedAt = loci.MemoryArchived, m.s.Now() })
		}
	case "restore":
		out, err = m.service.RestoreMemory(ctx, caller, loci.RestoreMemory{MemoryID: l.ID})
		if code = conflict(!active && l.SupersededBy == ""); code == "" {
			m.next(l, actor, func(n *loci.Memory) { n.Status, n.ArchivedAt = loci.MemoryActive, 0 })
		}
	case "revert":
		n := 1 + m.below(l.Version+1, "version")
		out, err = m.service.RevertMemory(ctx, caller,
			loci.RevertMemory{MemoryID: l.ID, Version: loci.VersionNumber(n)})
		if code == "" && n > l.Version {
			code = loci.CodeNotFound
		} else if code = conflict(active); code == "" {
			v := l.versions[n-1]
			m.next(l, actor, func(n *loci.Memory) {
				n.Content, n.Title, n.Type, n.Tags = v.Content, v.Title, v.Type,
					v.Tags
			})
		}
	case "delete":
		if _, err = m.service.DeleteMemory(ctx, caller, loci.DeleteMemory{MemoryID: l.ID}); code == "" {
			m.must(err)
			m.forget(l)
			return
		}
	}
	m.agree(what, out.Memory, err, l, code)
}

// changes draws what an update changes.
func (m *memoryModel) changes(in *loci.UpdateMemory) func(*loci.Memory) {
	which := 1 + m.below(15, "fields")
	content, title, kind, tags := loci.Content(m.text(6)),
		loci.OptionalTitle(rapid.SampledFrom([]string{"", "Knots", "日本"}).Draw(m.t, "title")), m.kind(), m.tags()
	if which&1 != 0 {
		in.Content = &content
	}
	if which&2 != 0 {
		in.Title = &title
	}
	if which&4 != 0 {
		in.Type = kind
	}
	if list := tagsOf(tags); which&8 != 0 {
		in.Tags = &list
	}
	return func(n *loci.Memory) {
		if in.Content != nil {
			n.Content = string(content)
		}
		if in.Title != nil {
			n.Title = cmp.Or(string(title), loci.DeriveTitle(n.Content))
		}
		n.Type = cmp.Or(in.Type, n.Type)
		if in.Tags != nil {
			n.Tags = tags
		}
	}
}

// reviews draws what a review says.
func (m *memoryModel) reviews(in *loci.VerifyMemory, actor int) func(*loci.Memory) {
	which := 1 + m.below(7, "fields")
	evidence, sure, until := loci.Evidence(m.text(2)), loci.Confidence(m.below(3, "sure"))/2,
		m.s.Now()+loci.Time(m.below(12, "until")-2)*1000
	if which&1 != 0 {
		in.Evidence = &evidence
	}
	if which&2 != 0 {
		in.Confidence = &sure
	}
	if which&4 != 0 {
		in.ValidUntil = &until
	}
	return func(n *loci.Memory) {
		n.VerifiedAt, n.VerifiedBy = m.s.Now(), m.people[actor].UserID
		if in.Evidence != nil {
			n.Evidence = string(evidence)
		}
		if in.Confidence != nil {
			n.Confidence = &sure
		}
		if in.ValidUntil != nil {
			n.ValidUntil = until
		}
	}
}

func (m *memoryModel) superseded(actor int, l *memoryState) {
	var r *memoryState
	id := rapid.SampledFrom([]string{m.elsewhere, "no id", loci.NewID(m.now.time())}).Draw(m.t, "odd replacement")
	if m.below(5, "odd") > 0 {
		r = m.all[m.below(len(m.all), "replacement")]
		id = r.ID
	}
	out, err := m.service.SupersedeMemory(ctx, m.people[actor],
		loci.SupersedeMemory{MemoryID: l.ID, ReplacementMemoryID: id})
	code := m.may(actor, l)
	switch {
	case r == nil && (id != m.elsewhere || actor != owner): // out of reach
		code = loci.CodeNotFound
	case code != "":
	case r == l, r == nil:
		code = loci.CodeInvalidQuery
	case l.Status != loci.MemoryActive, r.Status != loci.MemoryActive:
		code = loci.CodeStateConflict
	default:
		m.next(l, actor, func(n *loci.Memory) { n.Status, n.SupersededBy = loci.MemorySuperseded, r.ID })
		r.Supersedes = append(r.Supersedes, l.ID)
	}
	m.agree("supersede", out.Memory, err, l, code)
}

// forget takes a memory and its links away.
func (m *memoryModel) forget(l *memoryState) {
	m.all = slices.DeleteFunc(m.all, func(o *memoryState) bool { return o == l })
	for _, o := range m.all {
		if o.SupersededBy == l.ID {
			o.SupersededBy = ""
		}
		if o.Supersedes = slices.DeleteFunc(o.Supersedes, func(id string) bool {
			return id == l.ID
		}); len(o.Supersedes) == 0 {
			o.Supersedes = nil
		}
	}
}

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
	in := loci.ListVersions{MemoryID: l.ID, Limit: loci.Limit(1 + m.below(5, "limit"))}
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
	own := search.NewShingles(l.Content)
	scores := map[string]float64{}
	for i, a := range got {
		o := m.id(a.ID)
		if o == nil || o == l || o.Status != loci.MemoryActive {
			m.t.Fatalf("%s is called similar to %s", a.ID, l.ID)
		}
		if s := math.Round(own.Jaccard(search.NewShingles(o.Content))*1e4) / 1e4; s != a.Score ||
			s < search.SimilarityThreshold || i > 0 && s > got[i-1].Score {
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
func (m *memoryModel) filter() (f store.Filter, s search.Filter, keep func(*memoryState) bool) {
	f.WorkspaceID = m.crew
	f.Include = rapid.SampledFrom([][]loci.Include{nil, {loci.IncludeArchived}, {loci.IncludeSuperseded},
		{loci.IncludeSuperseded, loci.IncludeArchived}}).Draw(m.t, "include")
	if m.below(3, "narrow") == 0 {
		f.Types, s.Kinds = []loci.MemoryType{loci.TypeFact, loci.TypeTask}, 1|1<<3
	}
	if m.below(3, "tagged") == 0 {
		f.Tags, s.Tags = []string{"red"}, []string{"red"}
	}
	s.Statuses = 1
	for i, status := range loci.MemoryStatuses {
		if slices.Contains(f.Include, loci.Include(status)) {
			s.Statuses |= 1 << i
		}
	}
	return f, s, func(l *memoryState) bool {
		return (l.Status == loci.MemoryActive || slices.Contains(f.Include, loci.Include(l.Status))) &&
			(f.Tags == nil || slices.Contains(l.Tags, "red")) &&
			(f.Types == nil || slices.Contains(f.Types, l.Type))
	}
}

func (m *memoryModel) checkLists() {
	f, _, keep := m.filter()
	var want []string
	for _, l := range m.all {
		if keep(l) {
			want = append([]string{l.ID}, want...)
		}
	}
	for actor, p := range m.people[:stranger] {
		if got := ids(m.test, m.s, p, f, 100); !slices.Equal(got, want) {
			m.t.Fatalf("%d lists %v, want %v", actor, got, want)
		}
	}
	var verified []string
	for _, l := range m.all {
		if l.Status == loci.MemoryActive && l.VerifiedAt != 0 {
			verified = append([]string{l.ID}, verified...)
		}
	}
	if got := ids(m.test, m.s, m.people[2], store.Filter{WorkspaceID: m.crew, Verified: true}, 100); !slices.Equal(got,
		verified) {
		m.t.Fatalf("verified are %v, want %v", got, verified)
	}
}

// checkSearch compares hits and scores with an index built at once from the truth.
func (m *memoryModel) checkSearch() {
	f, s, _ := m.filter()
	q := search.Parse(rapid.SampledFrom([]string{"tide", "noon rope", "日本", "knots keel", "é mast", "hull"}).Draw(m.t,
		"query"))
	var changes []search.DocUpdate
	byRow := map[int64]string{}
	for i, l := range m.all {
		byRow[l.rowID] = l.ID
		changes = append(changes, search.DocUpdate{Seq: int64(i + 1), Document: search.Analyze(l.Title, l.Content),
			DocAttributes: search.DocAttributes{Memory: l.rowID, Atlas: l.atlas,
				Created: int64(l.CreatedAt), Kind: uint8(slices.Index(loci.MemoryTypes, l.Type)),
				Status: uint8(slices.Index(loci.MemoryStatuses, l.Status)), Tags: l.Tags,
				Verified: l.VerifiedAt != 0, ValidUntil: int64(l.ValidUntil)}})
	}
	_, r, err := search.NewSnapshot(nil).Apply(changes).SearchRewritten(search.NewCache(0), nil, q, s, int64(m.s.Now()),
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
	bytes, counts, bands := len("tide elsewhere"), map[string]int{}, 0
	for _, l := range m.all {
		if l.Status == loci.MemoryActive {
			bands += len(search.Signature(l.Content))
		}
		bytes += len(l.Content)
		counts[l.AtlasID]++
	}
	if u := usage.Usage; u.Memories != int64(len(m.all)+1) || u.Storage.UsedBytes != int64(bytes) {
		m.t.Fatalf("%d memories of %d bytes, want %d of %d", u.Memories, u.Storage.UsedBytes, len(m.all)+1, bytes)
	}
	var off int
	store.QueryRow(m.test, m.s,
		`SELECT count(*) FROM index_log c JOIN memories e ON e.row_id = c.memory AND e.workspace = c.workspace JOIN workspaces w ON w.row_id = e.workspace
		WHERE w.id = ?1 AND c.seq = (SELECT max(x.seq) FROM index_log x WHERE x.memory = c.memory AND x.workspace = c.workspace) AND (c.status <> e.status OR c.type <> e.type OR c.tags <> e.tags
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

func (m *memoryModel) reopen() {
	m.must(m.s.Close())
	m.s = m.d.Open(m.test, store.Options{Clock: m.now.time})
	m.serve()
}

func TestMemoriesLiveByTheRulesWhateverIsDoneToThem(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		now := &fakeClock{}
		s := d.Open(t, store.Options{Clock: now.time})
		rapid.Check(t, func(r *rapid.T) {
			m := newMemoryModel(r, t, d, s, now)
			defer func() { s = m.s }()
			for range 1 + m.below(3, "rounds") {
				for range 12 {
					m.act()
				}
				switch m.below(6, "between") {
				case 0:
					m.reopen()
				case 1, 2:
					m.must(m.s.Flush(ctx, m.crew))
				}
				m.check()
			}
		})
	})
}
