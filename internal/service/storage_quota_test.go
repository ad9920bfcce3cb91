package service_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
)

// The content of all workspaces of an owner counts. Refused content leaves
// nothing behind, and deleted content frees its storage.
func TestStorageQuotaRefusesContent(t *testing.T) {
	t.Parallel()
	plan := identity.DefaultPlans[loci.PlanSelfHosted]
	plan.Storage = 2000
	w := New(t, OpenSQLite, Options{Plan: plan})
	targets := w.Atlas(t, "Shelf")
	text := strings.Repeat("tide ", 180) // 899 bytes, less the space at the end
	first := w.Memory(t, targets, text+"one")
	w.Memory(t, targets, text+"two")
	create := func(content string) loci.CreateMemory {
		return loci.CreateMemory{AtlasID: targets, Content: loci.Content(content)}
	}
	if e := MustFail(t, w, CallerOwner, service.MemoryCreate, create(text+"three"),
		loci.CodeQuotaExceeded); e.RetryAfter == 0 || !strings.Contains(e.Message, "at most 2000 bytes") {
		t.Errorf("%+v", e)
	}
	MustCall(t, w, CallerOwner, service.MemoryCreate, create("short"))
	MustFail(t, w, CallerOwner, service.MemoryAppend, loci.AppendMemory{MemoryID: first, Content: loci.Content(text)},
		loci.CodeQuotaExceeded)
	if used := MustCall(t, w, CallerOwner, service.AccountStatus, loci.Empty{}).Usage.Storage.UsedBytes; used > 2000 {
		t.Errorf("%d bytes are used", used)
	}
	MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: first})
	MustCall(t, w, CallerOwner, service.MemoryCreate, create(text+"three"))
}
