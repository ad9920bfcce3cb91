package store_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestUniqueViolationIsAConflict(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		for name, q := range map[string]string{
			"primary key": `INSERT INTO metadata (name, value) VALUES ('twice', '')`,
			"unique":      `INSERT INTO generations (name) VALUES ('twice')`,
		} {
			for i, want := range []loci.Code{"", loci.CodeConflict} {
				err := store.WriteRaw(s, func(exec store.Exec) error { return exec(q) })
				if got := codeOf(err); got != want {
					t.Errorf("%s, row %d: %q, not %q: %v", name, i+1, got, want, err)
				}
			}
		}
	})
}

// codeOf returns the code of an error, empty for none.
func codeOf(err error) loci.Code {
	if err == nil {
		return ""
	}
	return loci.AsError(err).Code
}

func TestUnknownKindsAndStatesAreRead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		w := newService(s)
		for _, c := range []struct {
			set    string
			kind   loci.MemoryType
			status loci.MemoryStatus
			change loci.Code // of a change of something else
		}{
			{`type = 60`, loci.TypeNote, loci.MemoryActive, ""}, {`type = -1`, loci.TypeNote, loci.MemoryActive, ""},
			{`status = 60`, loci.TypeFact, loci.MemoryArchived, loci.CodeStateConflict},
			{`status = -1`, loci.TypeFact, loci.MemoryArchived, loci.CodeStateConflict},
		} {
			m := add(t, s, ann, "", "about zebras", func(m *loci.Memory) { m.Type = loci.TypeFact })
			title := loci.OptionalTitle("changed")
			if _, err := w.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: m.ID,
				Title: &title}); err != nil {
				t.Fatal(err)
			}
			d.Exec(t, `UPDATE versions SET `+c.set+` WHERE memory = (SELECT row_id FROM memories WHERE id = '`+
				string(m.ID)+
				`')`)
			d.Exec(t, `UPDATE memories SET `+c.set+` WHERE id = '`+string(m.ID)+`'`)
			got, err := w.GetMemory(ctx, ann, loci.GetMemory{MemoryID: m.ID})
			if err != nil || got.Type != c.kind || got.Status != c.status {
				t.Errorf("%s: %v %v, %v", c.set, got.Type, got.Status, err)
			}
			list, err := w.ListVersions(ctx, ann, loci.ListVersions{MemoryID: m.ID})
			if err != nil || len(list.Versions) != 2 || list.Versions[1].Type != c.kind ||
				list.Versions[1].Status != c.status {
				t.Errorf("%s: versions %+v, %v", c.set, list.Versions, err)
			}
			if ids(t, s, ann, loci.MemoryFilter{}, 100); len(searchKeywords(t, s, ann, "zebras",
				loci.MemoryFilter{}).Hits) == 0 {
				t.Errorf("%s: nothing is found", c.set)
			}
			// A change of something else, or a refusal, leaves the stored type.
			title = "changed again"
			if _, err := w.UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: m.ID,
				Title: &title}); codeOf(err) != c.change {
				t.Errorf("%s: %v", c.set, err)
			}
			if have := d.Query(t, `SELECT 'as it was' FROM memories WHERE `+c.set+` AND id = '`+string(m.ID)+
				`'`); len(have) != 1 {
				t.Errorf("%s was overwritten", c.set)
			}
		}
	})
}
