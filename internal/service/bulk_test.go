package service_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// TestBulkCallsDoWhatCanBeDone calls each operation that has a result for each record with three records, an unknown
// one and a repetition. Two of the three have room in the plan.
func TestBulkCallsDoWhatCanBeDone(t *testing.T) {
	t.Parallel()
	plan := identity.DefaultPlans[loci.PlanFree]
	plan.Storage = 2500
	Each(t, Options{Plan: plan}, func(t *testing.T, w *World) {
		w.Service.Files().Bucket = testenv.Must(blob.OpenFolder(t.TempDir()))(t)
		start := func() loci.ID {
			return MustCall(t, w, CallerOwner, service.SessionStart, loci.StartSession{Task: "t"}).Session.ID
		}
		session, memory := start(), w.Memory(t, "", "a")
		calls := map[string]struct {
			make   func() loci.ID
			change func(ids loci.BulkIDs) []loci.BulkResult
			last   loci.Code // of the third record
			again  loci.Code // of the first record
		}{
			service.SessionBulk.Name: {start, func(ids loci.BulkIDs) []loci.BulkResult {
				return MustCall(t, w, CallerOwner, service.SessionBulk,
					loci.BulkSessions{Action: loci.BulkDelete, SessionIDs: ids}).Results
			}, "", loci.CodeNotFound},
			service.AttachmentDelete.Name: {func() loci.ID {
				return MustCall(t, w, CallerOwner, service.AttachmentUpload, loci.UploadAttachment{MemoryID: memory,
					FileName: "a.txt", Size: 1, MIMEType: "text/plain"}).Attachment.ID
			}, func(ids loci.BulkIDs) []loci.BulkResult {
				return MustCall(t, w, CallerOwner, service.AttachmentDelete,
					loci.DeleteAttachments{AttachmentIDs: ids}).Results
			}, "", loci.CodeNotFound},
			service.SessionReview.Name: {func() loci.ID {
				return MustCall(t, w, CallerOwner, service.SessionCapture, loci.CaptureCandidate{SessionID: session,
					Content: loci.CandidateContent(strings.Repeat("x", 900))}).Candidate.ID
			}, func(ids loci.BulkIDs) (list []loci.BulkResult) {
				for _, r := range MustCall(t, w, CallerOwner, service.SessionReview,
					loci.ModerateCandidates{Action: loci.ModerationCompile, CandidateIDs: ids}).Results {
					if list = append(list, r.BulkResult); r.OK != (r.MemoryID != "") {
						t.Errorf("the memory of %+v is %q", r.BulkResult, r.MemoryID)
					}
				}
				return list
			}, loci.CodeQuotaExceeded, loci.CodeStateConflict},
		}
		for _, o := range service.Ops.Ops {
			x, isListed := calls[o.Name]
			if _, out := o.Types(); hasBulkResults(out) != isListed {
				t.Errorf("%s has a result for each record: %t", o.Name, !isListed)
			}
			if !isListed {
				continue
			}
			ids := loci.BulkIDs{x.make(), x.make(), x.make()}
			slices.Sort(ids) // the order of the changes
			ids = slices.Insert(append(ids, ids[0]), 1, "no id")
			results := x.change(ids)
			for i, code := range []loci.Code{"", loci.CodeNotFound, "", x.last, x.again} {
				testenv.Equal(t, results[i], loci.BulkResult{ID: ids[i], OK: code == "", Code: code}, o.Name, i)
			}
		}
		counts := MustCall(t, w, CallerOwner, service.SessionGet, loci.GetSession{SessionID: session}).Session.Counts
		testenv.Equal(t, counts.Pending, 1, "candidates wait")
		testenv.Len(t, MustCall(t, w, CallerOwner, service.MemoryList, loci.ListMemories{}).Memories, 3, "there are",
			"memories")
		storetest.CheckHealthy(t, w.Store)
	})
}

// hasBulkResults reports whether an output has results that are or embed a loci.BulkResult.
func hasBulkResults(out reflect.Type) bool {
	if out.Kind() != reflect.Struct {
		return false
	}
	f, ok := out.FieldByName("Results")
	if !ok {
		return false
	}
	result, bulk := f.Type.Elem(), reflect.TypeFor[loci.BulkResult]()
	return result == bulk || result.NumField() > 0 && result.Field(0).Type == bulk
}
