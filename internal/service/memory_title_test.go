package service_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// changesOfContent are the ways to give a memory a content that does not bring a title. The memory has the source of
// the call.
func changesOfContent(t *testing.T, w *World, source *loci.Source, m loci.Memory) map[string]func(string) {
	call := CallerOwner
	text := func(content string) *loci.Content { return ptr(loci.Content(content)) }
	return map[string]func(string){
		"update": func(content string) {
			MustCall(t, w, call, service.MemoryUpdate, loci.UpdateMemory{MemoryID: m.ID, Content: text(content)})
		},
		"append": func(content string) {
			MustCall(t, w, call, service.MemoryAppend, loci.AppendMemory{MemoryID: m.ID, Content: *text(content)})
		},
		"version of the source": func(content string) {
			MustCall(t, w, call, service.MemoryCreate, loci.CreateMemory{Content: *text(content), AtlasID: m.AtlasID,
				Source: source, OnDuplicate: loci.OnDuplicateVersion})
		},
		"revert": func(content string) {
			version := loci.VersionNumber(w.Get(t, m.ID).Version + 1)
			MustCall(t, w, call, service.MemoryUpdate, loci.UpdateMemory{MemoryID: m.ID, Content: text(content)})
			MustCall(t, w, call, service.MemoryUpdate, loci.UpdateMemory{MemoryID: m.ID, Content: text("between")})
			MustCall(t, w, call, service.MemoryRevert, loci.RevertMemory{MemoryID: m.ID, Version: version})
		},
	}
}

func TestDerivedTitleFollowsContentAndGivenOneStays(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		for _, given := range []string{"", "Mine"} {
			for name := range changesOfContent(t, w, nil, loci.Memory{}) {
				source := &loci.Source{Name: "notes", URI: loci.SourceText(name + given)}
				m := MustCall(t, w, CallerOwner, service.MemoryCreate, loci.CreateMemory{Content: "First line of " +
					loci.Content(name), Title: loci.Title(given), Source: source}).Memory.Memory
				changesOfContent(t, w, source, m)[name]("# A zeppelin\nby " + name)
				got, title := w.Get(t, m.ID), "A zeppelin"
				if given != "" {
					title = given
				}
				if got.Title != title || got.TitleDerived != (given == "") {
					t.Errorf("%s of %q: title %q, derived: %t", name, given, got.Title, got.TitleDerived)
				}
				versions := MustCall(t, w, CallerOwner, service.MemoryVersions,
					loci.ListVersions{MemoryID: m.ID}).Versions
				if v := versions[0]; v.Title != got.Title || v.TitleDerived != got.TitleDerived {
					t.Errorf("%s of %q: version with title %q, derived: %t", name, given, v.Title, v.TitleDerived)
				}
				if v := versions[len(versions)-1]; v.Title != m.Title || v.TitleDerived != (given == "") {
					t.Errorf("%s of %q: first title %q, derived: %t", name, given, v.Title, v.TitleDerived)
				}
			}
		}
		storetest.CheckHealthy(t, w.Store) // the index has the new titles
	})
}

func TestTitleIsDerivedAgainWhenItIsReset(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	update := func(id loci.ID, content *loci.Content, title *loci.OptionalTitle) loci.Memory {
		return MustCall(t, w, CallerOwner, service.MemoryUpdate,
			loci.UpdateMemory{MemoryID: id, Content: content, Title: title}).Memory
	}
	for _, empty := range []loci.OptionalTitle{"", " ", "\u200b"} {
		id := MustCall(t, w, CallerOwner, service.MemoryCreate,
			loci.CreateMemory{Content: "# The heading", Title: "Mine"}).Memory.ID
		if m := update(id, nil, &empty); m.Title != "The heading" || !m.TitleDerived || m.Version != 2 {
			t.Errorf("%q: title %q in version %d, derived: %t", empty, m.Title, m.Version, m.TitleDerived)
		}
		if m := update(id, ptr(loci.Content("Other")), nil); m.Title != "Other" || !m.TitleDerived {
			t.Errorf("%q: title %q, derived: %t", empty, m.Title, m.TitleDerived)
		}
		if m := update(id, ptr(loci.Content("More")), ptr(loci.OptionalTitle("Other"))); m.Title != "Other" ||
			m.TitleDerived {
			t.Errorf("%q: a given title %q, derived: %t", empty, m.Title, m.TitleDerived)
		}
		m := MustCall(t, w, CallerOwner, service.MemoryRevert, loci.RevertMemory{MemoryID: id, Version: 3}).Memory
		if m.Title != "Other" || !m.TitleDerived {
			t.Errorf("%q: reverted to title %q, derived: %t", empty, m.Title, m.TitleDerived)
		}
	}
}

// A credential may be one word only without its Markdown.
func TestDerivedTitleHoldsNoCredential(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	token := "ghp_" + strings.Repeat("aB3dE5gH7", 4)
	hidden := "The key is " + token[:20] + "**" + token[20:30] + "**" + token[30:]
	m := MustCall(t, w, CallerOwner, service.MemoryCreate,
		loci.CreateMemory{Content: loci.Content(hidden)}).Memory.Memory
	updated := MustCall(t, w, CallerOwner, service.MemoryUpdate,
		loci.UpdateMemory{MemoryID: m.ID, Content: ptr(loci.Content(hidden + "!"))}).Memory
	for _, m := range []loci.Memory{m, updated} {
		if strings.Contains(m.Title, token) || !strings.Contains(m.Title, "REDACTED") {
			t.Errorf("the title is %q", m.Title)
		}
	}
}

func TestContentWithoutVisibleCharacterIsRefused(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	id := w.Memory(t, "", "kept")
	for _, blank := range []loci.Content{" ", "\n\n", "\u00a0\t", "\u200b", "\ufeff", "\u200d\u2060", "\u3164"} {
		for name, err := range map[string]error{
			"create": Try(t, w, CallerOwner, service.MemoryCreate, loci.CreateMemory{Content: blank}),
			"update": Try(t, w, CallerOwner, service.MemoryUpdate, loci.UpdateMemory{MemoryID: id, Content: &blank}),
			"append": Try(t, w, CallerOwner, service.MemoryAppend, loci.AppendMemory{MemoryID: id, Content: blank}),
			"capture": Try(t, w, CallerOwner, service.SessionCapture,
				loci.CaptureCandidate{SessionID: id, Content: loci.CandidateContent(blank)}),
			"finalize": Try(t, w, CallerOwner, service.UnitFinalize,
				loci.FinalizeUnit{SessionID: id, UnitID: id, Content: blank}),
		} {
			Expect(t, name, err, loci.CodeInvalidQuery)
		}
	}
	if m := w.Get(t, id); m.Content != "kept" || m.Version != 1 {
		t.Errorf("%+v", m)
	}
}
