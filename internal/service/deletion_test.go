package service_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

func deleteAtlas(t *testing.T, w *World, id loci.ID) {
	t.Helper()
	if d := MustCall(t, w, CallerAdmin, service.AtlasDelete, loci.DeleteAtlas{AtlasID: id}); d != (loci.Deleted{}) {
		t.Errorf("a deletion shows %+v", d)
	}
}

// dryRun returns the memories that a deletion would remove.
func dryRun(t *testing.T, w *World, id loci.ID) int {
	t.Helper()
	d := MustCall(t, w, CallerAdmin, service.AtlasDelete, loci.DeleteAtlas{AtlasID: id, DryRun: true})
	if !d.DryRun || d.Memories == nil || d.Attachments == nil || *d.Attachments != 0 {
		t.Fatalf("a dry run shows %+v", d)
	}
	return *d.Memories
}

// fillAtlas adds memories of every status to an atlas, half of them to segments of the index.
func fillAtlas(t *testing.T, w *World, atlas loci.ID, n int) (list []loci.ID) {
	t.Helper()
	for i := range n {
		list = append(list, w.Memory(t, atlas, fmt.Sprintf("the tide of day %d", i)))
		if i == n/2 {
			testenv.NoError(t, w.Store.Flush(t.Context(), w.Team))
		}
	}
	MustCall(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: list[0]})
	MustCall(t, w, CallerOwner, service.MemorySupersede,
		loci.SupersedeMemory{MemoryID: list[n-1], ReplacementMemoryID: list[1]})
	return list
}

// Writers beside deletions succeed, or find no atlas. In neither case a row or a document is left behind.
func TestWritersBesideDeletionsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := New(t, d.Open, Options{})
		w.Store.Jobs().Start(t.Context())
		kept := w.Atlas(t, "Kept")
		keptMemory := w.Memory(t, kept, "the pilot knows the channel")
		for round := range 4 {
			atlas := w.Atlas(t, "Wreck")
			var inside []loci.ID
			for i := range 12 {
				inside = append(inside, w.Memory(t, atlas,
					fmt.Sprintf("buoy %d of round %d", i, round)))
			}
			counted := 0
			errs := storetest.RunConcurrently(8, func(i int) (err error) {
				for n := 0; n < 6 && err == nil; n++ {
					switch text := loci.Content(fmt.Sprintf("light %d %d %d", round, i, n)); i {
					case 0:
						if n > 0 {
							return nil
						}
						counted = dryRun(t, w, atlas)
						err = Try(t, w, CallerAdmin, service.AtlasDelete, loci.DeleteAtlas{AtlasID: atlas})
					case 1:
						err = Try(t, w, CallerMember, service.MemoryCreate,
							loci.CreateMemory{Content: text, AtlasID: atlas})
					case 2:
						err = Try(t, w, CallerMember, service.MemoryCreate,
							loci.CreateMemory{Content: text, WorkspaceID: w.Team})
					case 3:
						err = Try(t, w, CallerOwner, service.MemoryAppend,
							loci.AppendMemory{MemoryID: inside[n], Content: text})
					case 4:
						err = Try(t, w, CallerOwner, service.MemoryDelete,
							loci.DeleteMemory{MemoryID: inside[6+n/2]})
					case 5:
						var m loci.CreatedMemory
						if m, err = op.Do(t.Context(), w.Host, w.Call(CallerOwner), service.MemoryCreate,
							loci.CreateMemory{Content: text, AtlasID: kept}); err == nil {
							err = Try(t, w, CallerOwner, service.MemorySupersede,
								loci.SupersedeMemory{MemoryID: m.Memory.ID, ReplacementMemoryID: inside[10]})
						}
					case 6:
						err = Try(t, w, CallerOwner, service.MemorySupersede,
							loci.SupersedeMemory{MemoryID: inside[n], ReplacementMemoryID: keptMemory})
					case 7:
						err = w.Store.Flush(t.Context(), w.Team)
					}
				}
				return err
			})
			for i, err := range errs {
				if err != nil && !loci.Is(err, loci.CodeNotFound) && !loci.Is(err, loci.CodeStateConflict) {
					t.Errorf("writer %d: %v", i, err)
				}
			}
			if counted < 9 || counted > 18 {
				t.Errorf("the dry run counts %d memories", counted)
			}
			storetest.CheckHealthy(t, w.Store)
		}
		w.Erase(t)
		storetest.CheckHealthy(t, w.Store)
		testenv.Equal(t, d.Count(t, `memories WHERE atlas NOT IN (SELECT row_id FROM atlases
			WHERE workspace IS NOT NULL)`), "0", "memories are left")
	})
}

// Each look at the team answers alike before the rows of a deleted atlas are erased, and after.
func TestDeletedAtlasIsHiddenAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		embedder := &storetest.FakeEmbedder{Name: "fake/1"}
		w := New(t, d.Open, Options{Embedder: embedder})
		before := MustCall(t, w, CallerOwner, service.AccountStatus, loci.Empty{})
		kept, atlas := w.Atlas(t, "Kept"), w.Atlas(t, "Wreck")
		var stay []loci.ID
		for i := range 6 { // older and newer ones
			stay = append(stay, w.Memory(t, kept, fmt.Sprintf("the tide of night %d", i)))
			if i == 2 {
				fillAtlas(t, w, atlas, 8)
			}
		}
		slices.Reverse(stay)
		w.WaitForEmbeddings(t)
		search := func(mode loci.Mode, f loci.MemoryFilter, limit int) (ids []loci.ID) {
			in := loci.SearchMemories{Query: "tide day", Mode: mode, MemoryFilter: f,
				Paging: loci.Paging{Limit: loci.Limit(limit)}}
			for _, m := range allPages(t, w, in) {
				ids = append(ids, m.ID)
			}
			return ids
		}
		testenv.RequireEqual(t, len(search(loci.ModeKeyword, loci.MemoryFilter{}, 5)), 12, "found before")
		testenv.Equal(t, dryRun(t, w, atlas), 8, "a dry run counts", "memories")
		memory := fillAtlas(t, w, atlas, 3)[2]
		deleteAtlas(t, w, atlas)
		for _, stage := range []string{"marked", "erased"} {
			for _, f := range []loci.MemoryFilter{{}, {WorkspaceID: w.Team}, {AtlasID: kept},
				{Include: []loci.Include{loci.IncludeArchived, loci.IncludeSuperseded}}} {
				list := MustCall(t, w, CallerOwner, service.MemoryList,
					loci.ListMemories{MemoryFilter: f, Paging: loci.Paging{Limit: 5}})
				if len(list.Memories) != 5 || list.NextCursor == "" || list.Memories[4].ID != stay[4] {
					t.Errorf("%s: list %+v: %d memories", stage, f, len(list.Memories))
				}
				for _, mode := range []loci.Mode{loci.ModeKeyword, loci.ModeSemantic, loci.ModeHybrid, loci.ModeAuto} {
					got := search(mode, f, 4)
					slices.Sort(got)
					testenv.EqualSlices(t, got, slices.Sorted(slices.Values(stay)), stage, "search", mode, f)
				}
			}
			for _, m := range MustCall(t, w, CallerOwner, service.MemorySimilar,
				loci.SimilarMemories{MemoryID: stay[0]}).Similar {
				if !slices.Contains(stay, m.ID) {
					t.Errorf("%s: similar to %s", stage, m.ID)
				}
			}
			MustFail(t, w, CallerOwner, service.MemoryGet, loci.GetMemory{MemoryID: memory}, loci.CodeNotFound)
			MustFail(t, w, CallerOwner, service.MemoryVersions, loci.ListVersions{MemoryID: memory}, loci.CodeNotFound)
			MustFail(t, w, CallerOwner, service.MemoryAppend, loci.AppendMemory{MemoryID: memory, Content: "more"},
				loci.CodeNotFound)
			MustFail(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: memory}, loci.CodeNotFound)
			MustFail(t, w, CallerOwner, service.AtlasGet, loci.GetAtlas{AtlasID: atlas}, loci.CodeNotFound)
			MustFail(t, w, CallerOwner, service.AtlasDelete, loci.DeleteAtlas{AtlasID: atlas}, loci.CodeNotFound)
			MustFail(t, w, CallerOwner, service.MemoryCreate, loci.CreateMemory{Content: "more", AtlasID: atlas},
				loci.CodeNotFound)
			MustFail(t, w, CallerOwner, service.MemorySearch,
				loci.SearchMemories{Query: "tide", MemoryFilter: loci.MemoryFilter{AtlasID: atlas}}, loci.CodeNotFound)
			out := MustCall(t, w, CallerOwner, service.AccountStatus, loci.Empty{})
			if out.Usage.Memories != before.Usage.Memories+6 || out.Workspaces.Atlases.Used !=
				before.Workspaces.Atlases.Used+1 || out.Usage.Storage.UsedBytes != before.Usage.Storage.UsedBytes+6*19 {
				t.Errorf("%s: %+v %+v", stage, out.Usage, out.Workspaces)
			}
			testenv.Equal(t, MustCall(t, w, CallerOwner, service.WorkspaceGet,
				loci.GetWorkspace{WorkspaceID: w.Team}).Workspace.AtlasCount, 1, stage, "the workspace has", "atlases")
			storetest.CheckHealthy(t, w.Store)
			w.Erase(t)
		}
		testenv.Equal(t, d.Count(t, "memories"), "6", "memories")
		for _, table := range []string{"embedding_queue", "minhash_bands", "vectors"} {
			rows := d.Count(t, table+" WHERE memory NOT IN (SELECT row_id FROM memories)")
			if rows != "0" || table != "embedding_queue" && d.Count(t, table) == "0" {
				t.Errorf("%s has %s rows of erased memories, or none at all", table, rows)
			}
		}
		testenv.Equal(t, d.Count(t, "atlases WHERE workspace IS NULL"), "0", "deleted atlases are left")
	})
}

func TestNameAndInboxOfDeletedAtlasAreFreeAtOnce(t *testing.T) {
	t.Parallel()
	Each(t, Options{Plan: smallPlan}, func(t *testing.T, w *World) {
		in := loci.CreateMemory{Content: "the tide", WorkspaceID: w.Team}
		first := MustCall(t, w, CallerOwner, service.MemoryCreate, in).Memory
		second := loci.CreateAtlas{Name: "Ships", WorkspaceID: w.Team, Keywords: loci.Keywords{"bark"}}
		ships := MustCall(t, w, CallerOwner, service.AtlasCreate, second).Atlas.ID
		MustFail(t, w, CallerOwner, service.AtlasCreate, second, loci.CodeQuotaExceeded)
		deleteAtlas(t, w, first.AtlasID)
		deleteAtlas(t, w, ships)
		MustCall(t, w, CallerOwner, service.AtlasCreate, second)
		routed := MustCall(t, w, CallerOwner, service.MemoryCreate,
			loci.CreateMemory{Content: "a bark", WorkspaceID: w.Team}).Memory
		again := MustCall(t, w, CallerOwner, service.MemoryCreate, in)
		if again.Memory.AtlasID == first.AtlasID || again.Memory.DuplicateOf != "" || routed.AtlasID == ships ||
			routed.AtlasID == again.Memory.AtlasID {
			t.Errorf("%+v", again)
		}
		w.Erase(t)
		testenv.Equal(t, w.Get(t, again.Memory.ID).AtlasID, again.Memory.AtlasID)
		storetest.CheckHealthy(t, w.Store)
	})
}

func TestStoredResponsesEndWithTheAtlas(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := New(t, d.Open, Options{})
		kept, atlas := w.Atlas(t, "Kept"), w.Atlas(t, "Wreck")
		call := func(key string, atlas loci.ID) (bool, error) {
			_, replayed, err := CallWithKey(t, w, CallerOwner, key, service.MemoryCreate,
				loci.CreateMemory{Content: loci.Content("tide of " + key), AtlasID: atlas})
			return replayed, err
		}
		for key, id := range map[string]loci.ID{"kept": kept, "wreck": atlas} {
			testenv.Must(call(key, id))(t)
		}
		if _, _, err := CallWithKey(t, w, CallerOwner, "find", service.MemorySearch,
			loci.SearchMemories{Query: "tide"}); err != nil {
			t.Fatal(err)
		}
		deleteAtlas(t, w, atlas)
		for range 2 {
			if replayed, err := call("kept", kept); err != nil || !replayed {
				t.Errorf("a response of another atlas: %v %v", replayed, err)
			}
			Expect(t, "a response of the deleted atlas", testenv.ErrorOf(call("wreck", atlas)), loci.CodeNotFound)
			found, replayed,
				err := CallWithKey(t, w, CallerOwner, "find", service.MemorySearch, loci.SearchMemories{Query: "tide"})
			if err != nil || replayed != (d.Query(t, `SELECT id FROM atlases WHERE workspace IS NULL`) == nil) ||
				len(found.Memories) != 1 {
				t.Errorf("a stored search: %v %v, %d memories", replayed, err, len(found.Memories))
			}
			w.Erase(t)
		}
		testenv.Equal(t, d.Count(t, "idempotency_keys"), "2", "responses are left")
	})
}

func TestMemoriesOfOtherAtlasesLoseTheirLinks(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		kept, atlas := w.Atlas(t, "Kept"), w.Atlas(t, "Wreck")
		supersede := func(id, by loci.ID) {
			MustCall(t, w, CallerOwner, service.MemorySupersede,
				loci.SupersedeMemory{MemoryID: id, ReplacementMemoryID: by})
		}
		create := func(atlas loci.ID, content string) loci.ID {
			return w.Memory(t, atlas, content)
		}
		first, second, third := create(kept, "ebb"), create(kept, "flood"), create(kept, "slack water")
		inside, replaced := create(atlas, "spring tide"), create(atlas, "neap tide")
		supersede(first, inside)
		supersede(second, inside)
		supersede(replaced, third)
		deleteAtlas(t, w, atlas)
		MustCall(t, w, CallerOwner, service.MemoryRestore, loci.RestoreMemory{MemoryID: first})
		supersede(first, third) // which the jobs must not undo
		storetest.CheckHealthy(t, w.Store)
		w.Erase(t)
		storetest.CheckHealthy(t, w.Store)
		testenv.Equal(t, w.Get(t, first).SupersededBy, third, "superseded by")
		testenv.Equal(t, w.Get(t, second).SupersededBy, "", "superseded by")
		testenv.EqualSlices(t, w.Get(t, third).Supersedes, []loci.ID{first}, "supersedes")
		MustCall(t, w, CallerOwner, service.MemoryRestore, loci.RestoreMemory{MemoryID: second})
	})
}

func TestDeletionsAreAllowedInArchivedContainers(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		atlas, other := w.Atlas(t, "Wreck"), w.Atlas(t, "Other")
		fillAtlas(t, w, atlas, 4)
		MustCall(t, w, CallerAdmin, service.AtlasArchive, loci.ArchiveAtlas{AtlasID: atlas})
		MustCall(t, w, CallerOwner, service.WorkspaceArchive, loci.ArchiveWorkspace{WorkspaceID: w.Team})
		testenv.Equal(t, dryRun(t, w, atlas), 4, "memories")
		deleteAtlas(t, w, atlas)
		in := loci.DeleteWorkspace{WorkspaceID: w.Team}
		MustFail(t, w, CallerOwner, service.WorkspaceDelete, in, loci.CodeWorkspaceNotEmpty)
		deleteAtlas(t, w, other)
		in.DryRun = true
		d := MustCall(t, w, CallerOwner, service.WorkspaceDelete, in)
		if !d.DryRun || *d.Memories != 0 || *d.Attachments != 0 {
			t.Errorf("%+v", d)
		}
		in.DryRun = false
		MustFail(t, w, CallerAdmin, service.WorkspaceDelete, in, loci.CodeForbidden)
		MustCall(t, w, CallerOwner, service.WorkspaceDelete, in)
		for _, caller := range []Caller{CallerOwner, CallerMember} {
			MustFail(t, w, caller, service.WorkspaceGet, loci.GetWorkspace{WorkspaceID: w.Team}, loci.CodeNotFound)
		}
		storetest.CheckHealthy(t, w.Store)
		w.Erase(t)
		storetest.CheckHealthy(t, w.Store)
	})
}

// Another server, which has searched the atlas, hides it at once, and may be the one that erases it.
func TestDeletionHoldsOnEveryServer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := New(t, d.Open, Options{})
		atlas := w.Atlas(t, "Wreck")
		list := fillAtlas(t, w, atlas, 6)
		other := d.Open(t, store.Options{})
		second := service.New(service.Options{Store: other, Clock: time.Now})
		find := func() int {
			out := testenv.Must(second.SearchMemories(t.Context(), w.Ann.Actor(),
				loci.SearchMemories{Query: "tide", Mode: loci.ModeKeyword}))(t)
			return len(out.Memories)
		}
		testenv.RequireEqual(t, find(), 4, "found before")
		deleteAtlas(t, w, atlas)
		testenv.Equal(t, find(), 0, "found on the other server")
		Expect(t, "read on the other server", testenv.ErrorOf(second.GetMemory(t.Context(), w.Ann.Actor(),
			loci.GetMemory{MemoryID: list[2]})), loci.CodeNotFound)
		other.Jobs().Start(t.Context())
		waittest.Until(t, func() bool { return d.Count(t, "jobs") == "0" })
		testenv.Equal(t, d.Count(t, "memories"), "0", "memories are left")
		storetest.CheckHealthy(t, w.Store)
	})
}
