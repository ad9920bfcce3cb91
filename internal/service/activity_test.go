package service_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestWorkspaceShowsItsLastTwelveWeeks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var now atomic.Int64
		clock := func() time.Time { return time.UnixMicro(now.Load()) }
		until := func(text string) { now.Store(testenv.Must(time.Parse(time.RFC3339Nano, text))(t).UnixMicro()) }
		until("2025-10-19T23:59:59.999999Z") // a Sunday
		st := d.Open(t, store.Options{Clock: clock})
		s := service.New(service.Options{Store: st, Clock: clock})
		ann := storetest.User(t, st, "ann")
		crew := storetest.Team(t, st, ann, nil)
		atlas := func(name loci.Name) loci.ID {
			return testenv.Must(s.CreateAtlas(t.Context(), ann, loci.CreateAtlas{WorkspaceID: crew,
				Name: name}))(t).Atlas.ID
		}
		shelf, lost := atlas("shelf"), atlas("lost")
		write := func(atlasID loci.ID, text loci.Content) loci.ID {
			return testenv.Must(s.CreateMemory(t.Context(), ann, loci.CreateMemory{AtlasID: atlasID,
				Content: text}))(t).Memory.ID
		}
		old := write(shelf, "the week before the first")
		until("2025-10-20T00:00:00Z")
		first := write(shelf, "the first moment of the first week")
		write(lost, "in an atlas that is deleted")
		write("", "in another workspace")
		until("2026-01-04T23:59:59.999999Z")
		sunday := write(shelf, "the last moment of the last week but one")
		until("2026-01-05T00:00:00Z")
		monday := write(shelf, "the first moment of this week")
		testenv.Must(s.VerifyMemory(t.Context(), ann, loci.VerifyMemory{MemoryID: old,
			Evidence: ptr(loci.Evidence("seen"))}))(t)
		testenv.Must(s.SupersedeMemory(t.Context(), ann, loci.SupersedeMemory{MemoryID: sunday,
			ReplacementMemoryID: monday}))(t)
		testenv.Must(s.ArchiveMemory(t.Context(), ann, loci.ArchiveMemory{MemoryID: first}))(t)
		testenv.Must(s.DeleteAtlas(t.Context(), ann, loci.DeleteAtlas{AtlasID: lost}))(t)
		tag := ""
		shows := func(want string) {
			t.Helper()
			w := testenv.Must(s.GetWorkspace(t.Context(), ann, loci.GetWorkspace{WorkspaceID: crew}))(t)
			var lines []string
			for _, x := range w.Activity {
				lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s %d %d %d", x.Week, x.Written, x.Verified,
					x.Superseded), " 0 0 0"))
			}
			testenv.Equal(t, strings.Join(lines, ", "), want, "activity")
			if tag != "" {
				testenv.Equal(t, w.ETag(), tag, "the entity tag")
			}
			tag = w.ETag()
		}
		shows("2025-W43 1 0 0, 2025-W44, 2025-W45, 2025-W46, 2025-W47, 2025-W48, 2025-W49, 2025-W50, 2025-W51, " +
			"2025-W52, 2026-W01 1 0 0, 2026-W02 1 1 1")
		until("2026-01-18T23:59:59.999999Z")
		write(shelf, "a week later")
		shows("2025-W44, 2025-W45, 2025-W46, 2025-W47, 2025-W48, 2025-W49, 2025-W50, 2025-W51, 2025-W52, " +
			"2026-W01 1 0 0, 2026-W02 1 1 1, 2026-W03 1 0 0")
	})
}
