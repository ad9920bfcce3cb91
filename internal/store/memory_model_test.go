package store_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/title"
)

// A memoryState is a memory as it truly is, with all that it was.
type memoryState struct {
	loci.Memory
	rowID, atlas int64
	versions     []loci.MemoryVersion // oldest first; the last is the present one
}

// A memoryModel holds the memories of a team by the rules of the contract. The test compares the service with it.
type memoryModel struct {
	t       *rapid.T
	test    *testing.T
	d       storetest.Database
	s       *store.Store
	now     *fakeClock
	service *service.Service

	people    []*identity.Actor // the owner, an admin, two members, a stranger
	crew      loci.ID
	atlases   []loci.ID
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
		m.people = append(m.people, user(test, s, string(loci.NewID(now.time()))))
	}
	m.crew = team(test, s, m.people[owner], map[*identity.Actor]loci.Role{m.people[admin]: loci.RoleAdmin,
		m.people[2]: loci.RoleMember, m.people[3]: loci.RoleMember})
	for _, name := range []loci.Name{"One", "Two"} {
		a, err := m.service.CreateAtlas(ctx, m.people[owner],
			loci.CreateAtlas{Name: name, WorkspaceID: m.crew})
		m.must(err)
		m.atlases = append(m.atlases, a.Atlas.ID)
	}
	m.elsewhere = string(add(test, s, m.people[owner], "", "tide elsewhere").ID)
	return m
}

func (m *memoryModel) serve() {
	m.service = service.New(service.Options{Store: m.s, Clock: m.now.time})
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
	got.Unchanged = false // it describes the call
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

// may returns the error of a change of a memory by a user, before its state is checked. It is none, out of scope, or
// without the role.
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
				n.Content, n.Type, n.Tags = string(in.Content), in.Type, in.Tags.Unique()
			})
		}
		m.agree("version", out.Memory.Memory, err, twin, code)
		return
	}
	m.must(err)
	l := &memoryState{Memory: loci.Memory{ID: out.Memory.ID, WorkspaceID: m.crew, AtlasID: in.AtlasID,
		Content: string(in.Content), Title: title.Derive(string(in.Content)), TitleDerived: true,
		Type: in.Type, Tags: in.Tags.Unique(), Status: loci.MemoryActive, Version: 1, CreatedBy: m.people[actor].UserID,
		CreatedAt: m.s.Now(), UpdatedAt: m.s.Now(), Source: in.Source}}
	m.agree("create", out.Memory.Memory, err, l, "")
	var duplicate loci.ID
	alike := map[loci.ID]bool{"": true} // those whose texts may differ in white space alone
	for _, o := range m.all {
		if o.Status == loci.MemoryActive && o.AtlasID == l.AtlasID {
			if duplicate == "" && o.Content == l.Content {
				duplicate = o.ID
			}
			alike[o.ID] = slices.Equal(strings.Fields(o.Content), strings.Fields(l.Content))
		}
	}
	if got := out.Memory.DuplicateOf; got != duplicate && (duplicate != "" || !alike[got]) {
		m.t.Fatalf("a duplicate of %q, want %q (%s)", got, duplicate, in.OnDuplicate)
	}
	store.QueryRow(m.test, m.s, `SELECT row_id, atlas FROM memories WHERE id = ?1`, l.ID, &l.rowID, &l.atlas)
	m.all = append(m.all, l)
	l.versions = []loci.MemoryVersion{m.version(l, actor)}
}

// version is the present one of a memory that somebody has just made.
func (m *memoryModel) version(l *memoryState, actor int) loci.MemoryVersion {
	return loci.MemoryVersion{Version: l.Version, Title: l.Title, TitleDerived: l.TitleDerived, Content: l.Content,
		Type: l.Type, Tags: l.Tags, Status: l.Status, VerifiedAt: l.VerifiedAt,
		VerifiedBy: l.VerifiedBy, Evidence: l.Evidence, Confidence: l.Confidence, ValidUntil: l.ValidUntil,
		CreatedBy: m.people[actor].UserID, CreatedAt: l.UpdatedAt}
}

// next makes a version by f, unless that changes nothing. A derived title follows the content, and another content ends
// a review.
func (m *memoryModel) next(l *memoryState, actor int, f func(*loci.Memory)) {
	before, content := asJSON(l.Memory), l.Content
	if f(&l.Memory); l.TitleDerived {
		l.Title = title.Derive(l.Content)
	}
	if l.Content != content {
		l.VerifiedAt, l.VerifiedBy, l.Evidence, l.Confidence = 0, "", "", nil
	}
	if asJSON(l.Memory) == before {
		return
	}
	l.Version, l.UpdatedAt = l.Version+1, m.s.Now()
	l.Expired = l.ValidUntil != 0 && l.ValidUntil <= m.s.Now()
	l.versions = append(l.versions, m.version(l, actor))
}

func (m *memoryModel) id(id loci.ID) *memoryState {
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
	if m.below(40, "delete an atlas") == 0 {
		m.deletedAtlas()
		return
	}
	actor, l := m.below(5, "who"), m.all[m.below(len(m.all), "memory")]
	if m.below(3, "his own") > 0 { // else members are refused most of the time
		actor = slices.IndexFunc(m.people, func(p *identity.Actor) bool { return p.UserID == l.CreatedBy })
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
			store.QueryRow(m.test, m.s, `SELECT row_id FROM atlases WHERE id = ?1`, l.AtlasID, &l.atlas)
		}
	case "append":
		text := m.text(3)
		out, err = m.service.AppendMemory(ctx, caller,
			loci.AppendMemory{MemoryID: l.ID, Content: loci.Content(text)})
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
		if code = conflict(!active); code == "" {
			m.unlink(l)
			m.next(l, actor, func(n *loci.Memory) {
				n.Status, n.ArchivedAt, n.SupersededBy = loci.MemoryActive, 0, ""
			})
		}
	case "revert":
		n := 1 + m.below(l.Version+1, "version")
		out, err = m.service.RevertMemory(ctx, caller,
			loci.RevertMemory{MemoryID: l.ID, Version: loci.VersionNumber(n)})
		if code = conflict(active); code == "" && n > l.Version {
			code = loci.CodeNotFound
		} else if code == "" {
			v := l.versions[n-1]
			m.next(l, actor, func(n *loci.Memory) {
				n.Content, n.Title, n.TitleDerived, n.Type, n.Tags = v.Content, v.Title, v.TitleDerived, v.Type, v.Tags
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
	which := 1 + m.below(31, "fields")
	content, given, kind, tags := loci.Content(m.text(6)),
		loci.OptionalTitle(rapid.SampledFrom([]string{"", "Knots", "日本"}).Draw(m.t, "title")), m.kind(), m.tags()
	if which&1 != 0 {
		in.Content = &content
	}
	if which&2 != 0 {
		in.Title = &given
	}
	if which&4 != 0 {
		in.Type = kind
	}
	if list := tagsOf(tags); which&8 != 0 {
		in.Tags = &list
	}
	if which&16 != 0 {
		in.AtlasID = m.atlases[m.below(2, "atlas")]
	}
	return func(n *loci.Memory) {
		if in.Content != nil {
			n.Content = string(content)
		}
		if in.Title != nil {
			n.Title, n.TitleDerived = string(given), given == ""
		}
		n.Type, n.AtlasID = cmp.Or(in.Type, n.Type), cmp.Or(in.AtlasID, n.AtlasID)
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
	id := rapid.SampledFrom([]string{m.elsewhere, "no id", string(loci.NewID(m.now.time()))}).Draw(m.t,
		"odd replacement")
	if m.below(5, "odd") > 0 {
		r = m.all[m.below(len(m.all), "replacement")]
		id = string(r.ID)
	}
	out, err := m.service.SupersedeMemory(ctx, m.people[actor],
		loci.SupersedeMemory{MemoryID: l.ID, ReplacementMemoryID: loci.ID(id)})
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
	}
	m.unlink(l)
}

// unlink removes a memory from the lists of those that replaced it.
func (m *memoryModel) unlink(l *memoryState) {
	for _, o := range m.all {
		if o.Supersedes = slices.DeleteFunc(o.Supersedes, func(id loci.ID) bool {
			return id == l.ID
		}); len(o.Supersedes) == 0 {
			o.Supersedes = nil
		}
	}
}

// deletedAtlas deletes an atlas, and makes another one in its place.
func (m *memoryModel) deletedAtlas() {
	actor, a := m.below(5, "who"), m.below(2, "atlas")
	var want []*memoryState
	for _, l := range m.all {
		if l.AtlasID == m.atlases[a] {
			want = append(want, l)
		}
	}
	for _, dryRun := range []bool{true, false} {
		out, err := m.service.DeleteAtlas(ctx, m.people[actor],
			loci.DeleteAtlas{AtlasID: m.atlases[a], DryRun: dryRun})
		switch {
		case actor == stranger && loci.Is(err, loci.CodeNotFound), actor > admin && loci.Is(err, loci.CodeForbidden):
			continue
		case err != nil || actor > admin:
			m.t.Fatalf("%d deletes an atlas: %v", actor, err)
		case dryRun && *out.Memories != len(want):
			m.t.Fatalf("a dry run counts %d memories of %d", *out.Memories, len(want))
		}
	}
	if actor > admin {
		return
	}
	for _, l := range want {
		m.forget(l)
	}
	m.must(m.s.Eraser().EraseAll(ctx)) // until then links remain
	made, err := m.service.CreateAtlas(ctx, m.people[owner], loci.CreateAtlas{Name: "Another", WorkspaceID: m.crew})
	m.must(err)
	m.atlases[a] = made.Atlas.ID
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
		d.Check(t, func(r *rapid.T) {
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
