package service_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

func renameInput(id loci.ID, name string) loci.UpdateAtlas {
	n := loci.Name(name)
	return loci.UpdateAtlas{AtlasID: id, Name: &n}
}

// tagOf calls the method itself: times on the wire are too short for a tag.
func tagOf(t *testing.T, w *World, id loci.ID) string {
	t.Helper()
	return testenv.Must(w.Service.GetAtlas(t.Context(), w.Ann.Actor(),
		loci.GetAtlas{AtlasID: id}))(t).ETag()
}

// rename changes an atlas if it has a tag.
func rename(t *testing.T, w *World, id loci.ID, name, tag string) (loci.OneAtlas, error) {
	c := w.Call(CallerOwner)
	c.IfMatch = tag
	return op.Do(t.Context(), w.Host, c, service.AtlasUpdate, renameInput(id, name))
}

func TestUpdateAtlasChecksIfMatch(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		id := w.Atlas(t, "Shelf")
		read := func() string { return tagOf(t, w, id) }
		tag := read()
		if _, err := rename(t, w, id, "One", tag); err != nil || tag == read() {
			t.Fatalf("%v: %s, then %s", err, tag, read())
		}
		Expect(t, "stale", testenv.ErrorOf(rename(t, w, id, "Two", tag)), loci.CodeVersionConflict)
		for _, before := range []string{"", "*", "=", `"other", =`, `=,"other"`} {
			if _, err := rename(t, w, id, "Same", strings.Replace(before, "=", read(), 1)); err != nil {
				t.Errorf("%s: %v", before, err)
			}
		}
		for _, bad := range []string{`"other"`, "W/" + read(), strings.Trim(read(), `"`), ","} {
			Expect(t, bad, testenv.ErrorOf(rename(t, w, id, "No", bad)), loci.CodeVersionConflict)
		}
		tag = read()
		w.Memory(t, id, "one more")
		if read() == tag {
			t.Error("the tag does not change with the count that the atlas shows")
		}
		name := renameInput(id, "Other")
		MustFail(t, w, CallerMember, service.AtlasUpdate, name, loci.CodeForbidden)
	})
}

// Of many clients that change the version they read, exactly one succeeds.
func TestUpdateAtlasSucceedsOncePerTag(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		id := w.Atlas(t, "Shelf")
		tag := tagOf(t, w, id)
		SucceedAtOnce(t, 8, 1, loci.CodeVersionConflict, func(int) error {
			return testenv.ErrorOf(rename(t, w, id, "Mine", tag))
		})
	})
}

func TestUpdateAtlasKeepsAbsentFields(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	made := MustCall(t, w, CallerOwner, service.AtlasCreate, loci.CreateAtlas{Name: " Ships ", WorkspaceID: w.Team,
		Keywords: loci.Keywords{"bark", "brig", "bark"}, Description: "What floats."}).Atlas
	want := loci.Atlas{ID: made.ID, WorkspaceID: w.Team, Name: "Ships", Keywords: []string{"bark", "brig"},
		Description: "What floats.",
		Status:      loci.ContainerActive, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt}
	if !reflect.DeepEqual(made, want) {
		t.Errorf("made\n%+v, want\n%+v", made, want)
	}
	no, none := loci.Description(""), loci.Keywords{}
	for _, c := range []struct {
		in     loci.UpdateAtlas
		change func(*loci.Atlas)
	}{
		{renameInput(made.ID, "Boats"), func(a *loci.Atlas) { a.Name = "Boats" }},
		{loci.UpdateAtlas{AtlasID: made.ID, Keywords: &loci.Keywords{"raft"}}, func(a *loci.Atlas) {
			a.Keywords = []string{"raft"}
		}},
		{loci.UpdateAtlas{AtlasID: made.ID, Description: &no}, func(a *loci.Atlas) { a.Description = "" }},
		{loci.UpdateAtlas{AtlasID: made.ID, Keywords: &none}, func(a *loci.Atlas) { a.Keywords = []string{} }},
	} {
		c.change(&want)
		got := MustCall(t, w, CallerAdmin, service.AtlasUpdate, c.in).Atlas
		if got.UpdatedAt <= want.UpdatedAt-1 {
			t.Errorf("updatedAt %s after %s", got.UpdatedAt, want.UpdatedAt)
		}
		want.UpdatedAt = got.UpdatedAt
		if !reflect.DeepEqual(got, want) {
			t.Errorf("\n%+v, want\n%+v", got, want)
		}
	}
}
