package service_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func ptr[T any](v T) *T { return &v }

// A deed is a change of a memory, by somebody who insists on a tag or on none.
type deed struct {
	name string
	do   func(t *testing.T, w *proof.World, who proof.Caller, tag, id string) error
}

// deeds lists every change that an active memory takes.
func deeds(replacement string) []deed {
	return []deed{
		{"update", func(t *testing.T, w *proof.World, who proof.Caller, tag, id string) error {
			_, err := matching(t, w, who, tag, service.MemoryUpdate, loci.UpdateMemory{MemoryID: id, Title: ptr(loci.OptionalTitle("Other"))})
			return err
		}},
		{"append", func(t *testing.T, w *proof.World, who proof.Caller, tag, id string) error {
			_, err := matching(t, w, who, tag, service.MemoryAppend, loci.AppendMemory{MemoryID: id, Content: "more"})
			return err
		}},
		{"verify", func(t *testing.T, w *proof.World, who proof.Caller, tag, id string) error {
			_, err := matching(t, w, who, tag, service.MemoryVerify, loci.VerifyMemory{MemoryID: id, Confidence: ptr(loci.Confidence(0))})
			return err
		}},
		{"supersede", func(t *testing.T, w *proof.World, who proof.Caller, tag, id string) error {
			_, err := matching(t, w, who, tag, service.MemorySupersede, loci.SupersedeMemory{MemoryID: id, ReplacementMemoryID: replacement})
			return err
		}},
		{"archive", func(t *testing.T, w *proof.World, who proof.Caller, tag, id string) error {
			_, err := matching(t, w, who, tag, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
			return err
		}},
		{"revert", func(t *testing.T, w *proof.World, who proof.Caller, tag, id string) error {
			_, err := matching(t, w, who, tag, service.MemoryRevert, loci.RevertMemory{MemoryID: id, Version: 1})
			return err
		}},
		{"delete", func(t *testing.T, w *proof.World, who proof.Caller, tag, id string) error {
			_, err := matching(t, w, who, tag, service.MemoryDelete, loci.DeleteMemory{MemoryID: id})
			return err
		}},
	}
}

// expect compares an error with a code; none is no error.
func expect(t *testing.T, what string, err error, want loci.Code) {
	t.Helper()
	if want == "" && err != nil || want != "" && !loci.Is(err, want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

func TestMembersChangeWhatTheyMadeAndManagersEverything(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		shelf := w.Atlas(t, "Shelf")
		for _, c := range []struct {
			maker, who proof.Caller
			want       loci.Code
		}{
			{proof.Member, proof.Member, ""}, {proof.Member, proof.Admin, ""}, {proof.Member, proof.Owner, ""}, {proof.Member, proof.Token, ""},
			{proof.Owner, proof.Member, loci.Forbidden}, {proof.Admin, proof.Member, loci.Forbidden}, {proof.Owner, proof.Admin, ""}, {proof.Admin, proof.Owner, ""},
			{proof.Member, proof.Stranger, loci.NotFound}, {proof.Owner, proof.Elsewhere, loci.NotFound}, {proof.Member, proof.Nobody, loci.MissingAPIKey},
		} {
			replacement := stored(t, w, proof.Owner, shelf, "a replacement")
			for _, d := range deeds(replacement) {
				id := stored(t, w, c.maker, shelf, "a memory")
				before := get(t, w, id)
				expect(t, fmt.Sprintf("%s by %s of what %s made", d.name, c.who, c.maker), d.do(t, w, c.who, "", id), c.want)
				if c.want != "" && get(t, w, id).Tag() != before.Tag() {
					t.Errorf("%s by %s changed it", d.name, c.who)
				}
			}
			id := stored(t, w, c.maker, shelf, "put away")
			do(t, w, c.maker, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
			_, err := matching(t, w, c.who, "", service.MemoryRestore, loci.RestoreMemory{MemoryID: id})
			expect(t, fmt.Sprintf("restore by %s of what %s made", c.who, c.maker), err, c.want)
		}
		id := stored(t, w, proof.Owner, shelf, "no memory of the member's")
		refused(t, w, proof.Member, service.MemorySupersede, loci.SupersedeMemory{MemoryID: id, ReplacementMemoryID: loci.NewID(w.Clock.Now())}, loci.NotFound)
	})
}

func TestWhoIsNoMemberAnyMoreReachesNothing(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, w *proof.World, d storetest.Database) {
		shelf := w.Atlas(t, "Shelf")
		id, replacement := stored(t, w, proof.Member, shelf, "cid was here"), stored(t, w, proof.Member, shelf, "cid was here too")
		d.Exec(t, `DELETE FROM members WHERE user_id = '`+w.Cid.ID+`' AND role = 'member'`)
		for _, deed := range deeds(replacement) {
			expect(t, deed.name, deed.do(t, w, proof.Member, "", id), loci.NotFound)
		}
		refused(t, w, proof.Member, service.MemoryGet, loci.GetMemory{MemoryID: id}, loci.NotFound)
		refused(t, w, proof.Member, service.MemoryVersions, loci.ListVersions{MemoryID: id}, loci.NotFound)
		refused(t, w, proof.Member, service.MemorySimilar, loci.SimilarMemories{MemoryID: id}, loci.NotFound)
		refused(t, w, proof.Member, service.MemoryContext, loci.ReadContext{AtlasID: shelf}, loci.NotFound)
		own := stored(t, w, proof.Member, "", "his own")
		refused(t, w, proof.Member, service.MemorySupersede, loci.SupersedeMemory{MemoryID: own, ReplacementMemoryID: id}, loci.NotFound)
		if m := get(t, w, id); m.Version != 1 || m.CreatedBy != w.Cid.ID {
			t.Errorf("%+v", m)
		}
	})
}

func TestAStaleTagChangesNothing(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		shelf := w.Atlas(t, "Shelf")
		replacement := stored(t, w, proof.Owner, shelf, "a replacement")
		for _, d := range deeds(replacement) {
			id := stored(t, w, proof.Member, shelf, "first")
			stale := get(t, w, id).Tag()
			do(t, w, proof.Owner, service.MemoryAppend, loci.AppendMemory{MemoryID: id, Content: "second"})
			now, then := get(t, w, id).Tag(), get(t, w, replacement).Tag()
			for _, tag := range []string{stale, `"x"`, "W/" + now, strings.Trim(now, `"`), stale + `, "x"`} {
				expect(t, d.name+" with "+tag, d.do(t, w, proof.Owner, tag, id), loci.VersionConflict)
			}
			if get(t, w, id).Tag() != now || get(t, w, replacement).Tag() != then {
				t.Errorf("%s changed something", d.name)
			}
			expect(t, d.name+" of another's", d.do(t, w, proof.Stranger, stale, id), loci.NotFound)
			for n, tag := range []string{now, "*", `"x", ` + now + ` , ` + stale} {
				id := stored(t, w, proof.Member, shelf, "fresh")
				if n != 1 {
					tag = strings.ReplaceAll(tag, now, get(t, w, id).Tag())
				}
				expect(t, d.name+" with "+tag, d.do(t, w, proof.Member, tag, id), "")
			}
		}
	})
}

func TestTheTagChangesWithAllThatIsShown(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		shelf := w.Atlas(t, "Shelf")
		old, by, older := stored(t, w, proof.Owner, shelf, "old"), stored(t, w, proof.Owner, shelf, "new"), stored(t, w, proof.Owner, shelf, "older")
		seen := map[string]string{}
		look := func(what string, changed bool, ids ...string) {
			t.Helper()
			for _, id := range ids {
				m := do(t, w, proof.Owner, service.MemoryGet, loci.GetMemory{MemoryID: id})
				tag := m.ETag()
				if before, known := seen[id+tag]; known == changed {
					t.Errorf("%s: the tag is that of %q", what, before)
				}
				seen[id+tag] = what
			}
		}
		look("created", true, old, by, older)
		until := loci.At(w.Clock.Now().Add(time.Hour))
		for _, id := range []string{old, by} {
			for _, d := range deeds(by)[:3] {
				expect(t, d.name, d.do(t, w, proof.Admin, "", id), "")
				look(d.name, true, id)
			}
			do(t, w, proof.Owner, service.MemoryUpdate, loci.UpdateMemory{MemoryID: id, Title: ptr(loci.OptionalTitle("Other"))})
			look("an update that changes nothing", false, id)
			do(t, w, proof.Owner, service.MemoryVerify, loci.VerifyMemory{MemoryID: id, ValidUntil: &until})
			look("valid for an hour", true, id)
			do(t, w, proof.Owner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
			look("archived", true, id)
			do(t, w, proof.Owner, service.MemoryRestore, loci.RestoreMemory{MemoryID: id})
			look("restored", true, id)
		}
		for _, id := range []string{old, older} {
			out := do(t, w, proof.Owner, service.MemorySupersede, loci.SupersedeMemory{MemoryID: id, ReplacementMemoryID: by})
			if out.ETag() != get(t, w, id).Tag() {
				t.Error("the answer of a change has another tag than what is read then")
			}
			look("superseded", true, id, by)
		}
		do(t, w, proof.Owner, service.MemoryDelete, loci.DeleteMemory{MemoryID: older})
		if m := get(t, w, by); len(m.Supersedes) != 1 || m.Supersedes[0] != old || m.Version != 7 {
			t.Errorf("it replaces %v in version %d", m.Supersedes, m.Version)
		}
		// Its tag is the one that it had with one link: it shows the same again.
		w.Clock.Pass(2 * time.Hour)
		if !get(t, w, by).Expired {
			t.Error("not expired after two hours")
		}
		look("expired", true, old, by)
		do(t, w, proof.Owner, service.MemoryDelete, loci.DeleteMemory{MemoryID: by})
		look("its replacement is gone", true, old)
		do(t, w, proof.Owner, service.MemoryRestore, loci.RestoreMemory{MemoryID: old})
		look("restored at last", true, old)
	})
}

func TestARepeatedChangeIsMadeOnce(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, w *proof.World, d storetest.Database) {
		id, by := stored(t, w, proof.Owner, "", "log"), stored(t, w, proof.Owner, "", "new log")
		in := loci.AppendMemory{MemoryID: id, Content: "line"}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if out, _, err := again(t, w, proof.Owner, "a", service.MemoryAppend, in); err != nil || out.Memory.Content != "log\nline" || out.Memory.Version != 2 {
					t.Errorf("%+v, %v", out.Memory, err)
				}
			})
		}
		all.Wait()
		in.Content = "another line"
		if _, _, err := again(t, w, proof.Owner, "a", service.MemoryAppend, in); !loci.Is(err, loci.IdempotencyConflict) {
			t.Errorf("another text: %v", err)
		}
		in.Content = "line"
		do(t, w, proof.Owner, service.MemoryAppend, in)
		repeat(t, w, service.MemoryAppend, in)
		repeat(t, w, service.MemoryVerify, loci.VerifyMemory{MemoryID: id, Confidence: ptr(loci.Confidence(1))})
		repeat(t, w, service.MemoryRevert, loci.RevertMemory{MemoryID: id, Version: 2})
		repeat(t, w, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
		repeat(t, w, service.MemoryRestore, loci.RestoreMemory{MemoryID: id})
		repeat(t, w, service.MemorySupersede, loci.SupersedeMemory{MemoryID: id, ReplacementMemoryID: by})
		if m := get(t, w, id); m.Version != 9 || m.Content != "log\nline" || m.Status != loci.Superseded {
			t.Errorf("%+v", m)
		}
		answers := `SELECT CAST(count(*) AS TEXT) FROM onces WHERE resource = '` + id + `'`
		if n := d.Query(t, answers)[0]; n != "7" {
			t.Errorf("%s answers are kept", n)
		}
		do(t, w, proof.Owner, service.MemoryDelete, loci.DeleteMemory{MemoryID: id})
		if n := d.Query(t, answers)[0]; n != "0" {
			t.Errorf("%s answers outlive the memory", n)
		}
		if _, replayed, err := again(t, w, proof.Owner, "a", service.MemoryAppend, in); replayed || !loci.Is(err, loci.NotFound) {
			t.Errorf("of what is gone: %v, %v", replayed, err)
		}
	})
}

// A mistake of the form is told before anything is looked up.
func TestAChangeOfNothingIsAMistakeWhoeverMakesIt(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	id := stored(t, w, proof.Owner, w.Atlas(t, "Shelf"), "a memory")
	for _, who := range []proof.Caller{proof.Owner, proof.Member, proof.Stranger} {
		for _, tag := range []string{"", `"stale"`} {
			_, err := matching(t, w, who, tag, service.MemoryUpdate, loci.UpdateMemory{MemoryID: id, Secrets: loci.OnSecretRedact})
			expect(t, "update by "+string(who), err, loci.InvalidQuery)
			_, err = matching(t, w, who, tag, service.MemoryVerify, loci.VerifyMemory{MemoryID: id})
			expect(t, "verify by "+string(who), err, loci.InvalidQuery)
		}
	}
}

func TestAnArchivedAtlasTakesReviewsAlone(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, w *proof.World, d storetest.Database) {
		shelf := w.Atlas(t, "Shelf")
		id, replacement := stored(t, w, proof.Owner, shelf, "first"), stored(t, w, proof.Owner, shelf, "replacement")
		do(t, w, proof.Owner, service.MemoryAppend, loci.AppendMemory{MemoryID: id, Content: "second"})
		d.Exec(t, `UPDATE atlases SET archived = TRUE WHERE id = '`+shelf+`'`)
		for _, deed := range deeds(replacement)[:6] {
			want := loci.StateConflict
			if deed.name == "verify" {
				want = ""
			}
			expect(t, deed.name, deed.do(t, w, proof.Owner, "", id), want)
		}
		if m := get(t, w, id); m.Version != 3 || m.Content != "first\nsecond" || m.VerifiedBy != w.Ann.ID {
			t.Errorf("%+v", m)
		}
	})
}

func TestATimeThatIsZeroIsATimeToo(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	id := stored(t, w, proof.Owner, "", "a memory")
	out := do(t, w, proof.Owner, service.MemoryVerify, loci.VerifyMemory{MemoryID: id, ValidUntil: ptr(loci.Time(0)), Confidence: ptr(loci.Confidence(0))})
	if m := get(t, w, id); !m.Expired || !out.Memory.Expired || m.ValidUntil.String() != "1970-01-01T00:00:00.000Z" || m.Confidence == nil || *m.Confidence != 0 {
		t.Errorf("%+v", m)
	}
}
