package service_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func ptr[T any](v T) *T { return &v }

// A memoryWrite is a change of a memory by a caller, with an If-Match tag or none.
type memoryWrite struct {
	name string
	ends bool // the memory is not active afterwards
	run  func(t *testing.T, w *World, actor Caller, tag string, id loci.ID) error
}

// writeOf returns the change of an operation, whose input for a memory is that of in.
func writeOf[In, Out any](o op.TypedOp[In, Out], ends bool, in func(id loci.ID) In) memoryWrite {
	run := func(t *testing.T, w *World, actor Caller, tag string, id loci.ID) error {
		return testenv.ErrorOf(CallIfMatch(t, w, actor, tag, o, in(id)))
	}
	return memoryWrite{strings.TrimPrefix(o.Name, "memory."), ends, run}
}

// memoryWrites lists changes that an active memory accepts.
func memoryWrites(replacement loci.ID) []memoryWrite {
	return []memoryWrite{
		writeOf(service.MemoryUpdate, false, func(id loci.ID) loci.UpdateMemory {
			return loci.UpdateMemory{MemoryID: id, Title: ptr(loci.OptionalTitle("Other"))}
		}),
		writeOf(service.MemoryAppend, false, func(id loci.ID) loci.AppendMemory {
			return loci.AppendMemory{MemoryID: id, Content: "more"}
		}),
		writeOf(service.MemoryVerify, false, func(id loci.ID) loci.VerifyMemory {
			return loci.VerifyMemory{MemoryID: id, Confidence: ptr(loci.Confidence(0))}
		}),
		writeOf(service.MemorySupersede, true, func(id loci.ID) loci.SupersedeMemory {
			return loci.SupersedeMemory{MemoryID: id, ReplacementMemoryID: replacement}
		}),
		writeOf(service.MemoryArchive, true, func(id loci.ID) loci.ArchiveMemory {
			return loci.ArchiveMemory{MemoryID: id}
		}),
		writeOf(service.MemoryRevert, false, func(id loci.ID) loci.RevertMemory {
			return loci.RevertMemory{MemoryID: id, Version: 1}
		}),
		writeOf(service.MemoryDelete, true, func(id loci.ID) loci.DeleteMemory {
			return loci.DeleteMemory{MemoryID: id}
		}),
	}
}

func TestMembersChangeOwnMemoriesAndManagersAll(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		targets := w.Atlas(t, "Shelf")
		for _, c := range []struct {
			creator, caller Caller
			want            loci.Code
		}{
			{CallerMember, CallerMember, ""},
			{CallerMember, CallerAdmin, ""},
			{CallerMember, CallerOwner, ""},
			{CallerMember, CallerToken, ""},
			{CallerOwner, CallerMember, loci.CodeForbidden},
			{CallerAdmin, CallerMember, loci.CodeForbidden},
			{CallerOwner, CallerAdmin, ""},
			{CallerAdmin, CallerOwner, ""},
			{CallerMember, CallerStranger, loci.CodeNotFound},
			{CallerOwner, CallerElsewhere, loci.CodeNotFound},
			{CallerMember, CallerNobody, loci.CodeMissingAPIKey},
		} {
			replacement := w.Memory(t, targets, "a replacement")
			for _, d := range memoryWrites(replacement) {
				id := mustCreate(t, w, c.creator, targets, "a memory")
				before := w.Get(t, id)
				Expect(t, fmt.Sprintf("%s by %s of a memory of %s", d.name, c.caller, c.creator),
					d.run(t, w, c.caller, "", id), c.want)
				if c.want != "" && w.Get(t, id).EntityTag() != before.EntityTag() {
					t.Errorf("%s by %s changed it", d.name, c.caller)
				}
			}
			id := mustCreate(t, w, c.creator, targets, "put away")
			MustCall(t, w, c.creator, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
			Expect(t, fmt.Sprintf("restore by %s of a memory of %s", c.caller, c.creator), testenv.ErrorOf(
				CallIfMatch(t, w, c.caller, "", service.MemoryRestore, loci.RestoreMemory{MemoryID: id})), c.want)
		}
		id := w.Memory(t, targets, "no memory of the member's")
		MustFail(t, w, CallerMember, service.MemorySupersede,
			loci.SupersedeMemory{MemoryID: id, ReplacementMemoryID: loci.NewID(w.Clock.Now())}, loci.CodeNotFound)
	})
}

func TestFormerMemberReachesNothing(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		targets := w.Atlas(t, "Shelf")
		id, replacement := mustCreate(t, w, CallerMember, targets, "cid was here"),
			mustCreate(t, w, CallerMember, targets, "cid was here too")
		d.Exec(t, `DELETE FROM members WHERE user_id = '`+string(w.Cid.ID)+`' AND role = 'member'`)
		for _, deed := range memoryWrites(replacement) {
			Expect(t, deed.name, deed.run(t, w, CallerMember, "", id), loci.CodeNotFound)
		}
		MustFail(t, w, CallerMember, service.MemoryGet, loci.GetMemory{MemoryID: id}, loci.CodeNotFound)
		MustFail(t, w, CallerMember, service.MemoryVersions, loci.ListVersions{MemoryID: id}, loci.CodeNotFound)
		MustFail(t, w, CallerMember, service.MemorySimilar, loci.SimilarMemories{MemoryID: id}, loci.CodeNotFound)
		MustFail(t, w, CallerMember, service.MemoryContext, loci.ReadContext{AtlasID: targets}, loci.CodeNotFound)
		own := mustCreate(t, w, CallerMember, "", "his own")
		MustFail(t, w, CallerMember, service.MemorySupersede,
			loci.SupersedeMemory{MemoryID: own, ReplacementMemoryID: id}, loci.CodeNotFound)
		if m := w.Get(t, id); m.Version != 1 || m.CreatedBy != w.Cid.ID {
			t.Errorf("%+v", m)
		}
	})
}

func TestTagChangesWithShownFields(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		targets := w.Atlas(t, "Shelf")
		old, by, older := w.Memory(t, targets, "old"),
			w.Memory(t, targets, "new"),
			w.Memory(t, targets, "older")
		seen := map[string]string{}
		look := func(what string, changed bool, ids ...loci.ID) {
			t.Helper()
			for _, id := range ids {
				m := MustCall(t, w, CallerOwner, service.MemoryGet, loci.GetMemory{MemoryID: id})
				tag := m.ETag()
				if before, known := seen[string(id)+tag]; known == changed {
					t.Errorf("%s: the tag is that of %q", what, before)
				}
				seen[string(id)+tag] = what
			}
		}
		look("created", true, old, by, older)
		until := loci.TimeOf(w.Clock.Now().Add(time.Hour))
		for _, id := range []loci.ID{old, by} {
			for _, d := range memoryWrites(by) {
				if d.ends {
					continue
				}
				Expect(t, d.name, d.run(t, w, CallerAdmin, "", id), "")
				look(d.name, true, id)
			}
			MustCall(t, w, CallerOwner, service.MemoryUpdate, loci.UpdateMemory{MemoryID: id, Type: w.Get(t, id).Type})
			look("an update that changes nothing", false, id)
			MustCall(t, w, CallerOwner, service.MemoryVerify, loci.VerifyMemory{MemoryID: id, ValidUntil: &until})
			look("valid for an hour", true, id)
			MustCall(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
			look("archived", true, id)
			MustCall(t, w, CallerOwner, service.MemoryRestore, loci.RestoreMemory{MemoryID: id})
			look("restored", true, id)
		}
		for _, id := range []loci.ID{old, older} {
			out := MustCall(t, w, CallerOwner, service.MemorySupersede,
				loci.SupersedeMemory{MemoryID: id, ReplacementMemoryID: by})
			testenv.Equal(t, out.ETag(), w.Get(t, id).EntityTag(),
				"the answer of a change has another tag than what is read then")
			look("superseded", true, id, by)
		}
		MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: older})
		if m := w.Get(t, by); len(m.Supersedes) != 1 || m.Supersedes[0] != old || m.Version != 8 {
			t.Errorf("it replaces %v in version %d", m.Supersedes, m.Version)
		}
		// Its tag is the one that it had with one link: it shows the same again.
		w.Clock.Advance(2 * time.Hour)
		if !w.Get(t, by).Expired {
			t.Error("not expired after two hours")
		}
		look("expired", true, old, by)
		MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: by})
		look("its replacement is gone", true, old)
		MustCall(t, w, CallerOwner, service.MemoryRestore, loci.RestoreMemory{MemoryID: old})
		look("restored at last", true, old)
	})
}

func TestRestoreTakesSupersedeBackWhateverBecameOfTheReplacement(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		supersede := func(id, by loci.ID) error {
			return Try(t, w, CallerOwner, service.MemorySupersede,
				loci.SupersedeMemory{MemoryID: id, ReplacementMemoryID: by})
		}
		for fate, f := range map[loci.MemoryStatus]func(id, other loci.ID) error{
			loci.MemoryActive: func(_, _ loci.ID) error { return nil },
			loci.MemoryArchived: func(id, _ loci.ID) error {
				return Try(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
			},
			loci.MemorySuperseded: supersede,
			"deleted": func(id, _ loci.ID) error {
				return Try(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: id})
			},
		} {
			create := func(name string) loci.ID {
				return w.Memory(t, "", name+" of the "+string(fate))
			}
			old, sibling, by, third := create("old"), create("sibling"), create("new"), create("third")
			testenv.NoError(t, errors.Join(supersede(old, by), supersede(sibling, by), f(by, third)))
			m := MustCall(t, w, CallerOwner, service.MemoryRestore, loci.RestoreMemory{MemoryID: old}).Memory
			if m.Status != loci.MemoryActive || m.SupersededBy != "" || m.Version != 3 {
				t.Errorf("%s: restored %+v", fate, m)
			}
			list := MustCall(t, w, CallerOwner, service.MemoryList, loci.ListMemories{}).Memories
			found := MustCall(t, w, CallerOwner, service.MemorySearch,
				loci.SearchMemories{Query: `"` + loci.Query(m.Content) + `"`}).Memories
			if !slices.ContainsFunc(list, func(one loci.Memory) bool { return one.ID == old }) ||
				!slices.ContainsFunc(found, func(one loci.FoundMemory) bool { return one.ID == old }) {
				t.Errorf("%s: the restored memory is not listed or not found", fate)
			}
			if fate == "deleted" {
				continue
			}
			if r := w.Get(t, by); r.Status != fate || !slices.Equal(r.Supersedes, []loci.ID{sibling}) {
				t.Errorf("the replacement is %s and supersedes %v", r.Status, r.Supersedes)
			}
			Expect(t, "a restore of an active memory", Try(t, w, CallerOwner, service.MemoryRestore,
				loci.RestoreMemory{MemoryID: old}), loci.CodeStateConflict)
		}
		storetest.CheckHealthy(t, w.Store)
	})
}

func TestRepeatedChangeIsMadeOnce(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		id, by := w.Memory(t, "", "log"),
			w.Memory(t, "", "new log")
		in := loci.AppendMemory{MemoryID: id, Content: "line"}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if out, _, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryAppend, in); err != nil ||
					out.Memory.Content != "log\nline" || out.Memory.Version != 2 {
					t.Errorf("%+v, %v", out.Memory, err)
				}
			})
		}
		all.Wait()
		in.Content = "another line"
		if _, _, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryAppend, in); !loci.Is(err,
			loci.CodeIdempotencyConflict) {
			t.Errorf("another text: %v", err)
		}
		in.Content = "line"
		MustCall(t, w, CallerOwner, service.MemoryAppend, in)
		callTwice(t, w, service.MemoryAppend, in)
		callTwice(t, w, service.MemoryVerify, loci.VerifyMemory{MemoryID: id,
			Confidence: ptr(loci.Confidence(1))})
		callTwice(t, w, service.MemoryRevert, loci.RevertMemory{MemoryID: id, Version: 2})
		callTwice(t, w, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
		callTwice(t, w, service.MemoryRestore, loci.RestoreMemory{MemoryID: id})
		callTwice(t, w, service.MemorySupersede, loci.SupersedeMemory{MemoryID: id,
			ReplacementMemoryID: by})
		if m := w.Get(t, id); m.Version != 9 || m.Content != "log\nline" || m.Status != loci.MemorySuperseded {
			t.Errorf("%+v", m)
		}
		answers := `SELECT CAST(count(*) AS TEXT) FROM idempotency_records WHERE record = '` + id + `'`
		testenv.Equal(t, d.Query(t, string(answers))[0], "7", "answers are kept")
		MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: id})
		testenv.Equal(t, d.Query(t, string(answers))[0], "0", "answers outlive the memory")
		if _, replayed, err := CallWithKey(t, w, CallerOwner, "a", service.MemoryAppend, in); replayed ||
			!loci.Is(err, loci.CodeNotFound) {
			t.Errorf("of what is gone: %v, %v", replayed, err)
		}
	})
}

// A stored answer has no content: a repeated call takes it from the version that the answer shows.
func TestRepeatedCallHasTheContentOfItsVersion(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		long := "words" // which no compression makes short
		for range 500 {
			long += " " + rand.Text()[:5]
		}
		id, title := loci.ID(""), loci.OptionalTitle("a title")
		calls := []func(key string) any{
			func(key string) any {
				out, _, err := CallWithKey(t, w, CallerOwner, key, service.MemoryCreate,
					loci.CreateMemory{Content: loci.Content(long)})
				id = out.Memory.ID
				return testenv.Must(out, err)(t)
			},
			changeWithKey(t, w, service.MemoryAppend, func() loci.AppendMemory {
				return loci.AppendMemory{MemoryID: id, Content: "a line"}
			}),
			changeWithKey(t, w, service.MemoryVerify, func() loci.VerifyMemory {
				return loci.VerifyMemory{MemoryID: id, Confidence: ptr(loci.Confidence(1))}
			}),
			changeWithKey(t, w, service.MemoryRevert, func() loci.RevertMemory {
				return loci.RevertMemory{MemoryID: id, Version: 1}
			}),
			changeWithKey(t, w, service.MemoryArchive, func() loci.ArchiveMemory {
				return loci.ArchiveMemory{MemoryID: id}
			}),
		}
		var answers []string
		for i, call := range calls {
			if i == 3 { // the version of the answers before is no longer the present one
				MustCall(t, w, CallerOwner, service.MemoryUpdate,
					loci.UpdateMemory{MemoryID: id, Content: ptr(loci.Content("another text")), Title: &title})
			}
			answers = append(answers, string(testenv.Must(json.Marshal(call(fmt.Sprint(i))))(t)))
		}
		for i, call := range calls {
			if again := string(testenv.Must(json.Marshal(call(fmt.Sprint(i))))(t)); again != answers[i] {
				t.Errorf("call %d answers %.300s, and again %.300s", i, answers[i], again)
			}
		}
		if n := d.Query(t, `SELECT CAST(max(length(response)) AS TEXT) FROM idempotency_keys`)[0]; len(n) > 3 {
			t.Errorf("an answer needs %s bytes", n)
		}
	})
}

// changeWithKey returns a call of a change with an Idempotency-Key.
func changeWithKey[In any](t *testing.T, w *World, o op.TypedOp[In, loci.OneMemory],
	in func() In) func(key string) any {
	return func(key string) any {
		out, _, err := CallWithKey(t, w, CallerOwner, key, o, in())
		if err != nil {
			t.Errorf("%s with the key %s: %v", o.Name, key, err)
		}
		return out
	}
}

// An invalid input is reported before any lookup.
func TestEmptyChangeIsInvalidForEveryCaller(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	id := w.Memory(t, w.Atlas(t, "Shelf"), "a memory")
	for _, actor := range []Caller{CallerOwner, CallerMember, CallerStranger} {
		for _, tag := range []string{"", `"stale"`} {
			Expect(t, "update by "+string(actor), testenv.ErrorOf(CallIfMatch(t, w, actor, tag, service.MemoryUpdate,
				loci.UpdateMemory{MemoryID: id, Secrets: loci.OnSecretRedact})), loci.CodeInvalidQuery)
			Expect(t, "verify by "+string(actor), testenv.ErrorOf(CallIfMatch(t, w, actor, tag, service.MemoryVerify,
				loci.VerifyMemory{MemoryID: id})), loci.CodeInvalidQuery)
		}
	}
}

func TestZeroTimeIsTime(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	id := w.Memory(t, "", "a memory")
	out := MustCall(t, w, CallerOwner, service.MemoryVerify,
		loci.VerifyMemory{MemoryID: id, ValidUntil: ptr(loci.Time(0)), Confidence: ptr(loci.Confidence(0))})
	if m := w.Get(t, id); !m.Expired || !out.Memory.Expired ||
		m.ValidUntil.String() != "1970-01-01T00:00:00.000Z" || m.Confidence == nil || *m.Confidence != 0 {
		t.Errorf("%+v", m)
	}
}
