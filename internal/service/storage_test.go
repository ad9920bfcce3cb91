package service_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
)

// The content of all workspaces that somebody owns counts, and what does not fit leaves
// nothing behind; what is deleted makes room.
func TestContentBeyondTheStorageOfThePlanIsRefused(t *testing.T) {
	t.Parallel()
	plan := loci.Plans[loci.SelfHosted]
	plan.Storage = 2000
	w := world(t, proof.Options{Plan: plan})
	shelf := w.Atlas(t, "Shelf")
	text := strings.Repeat("tide ", 180) // 899 bytes, less the space at the end
	first := w.Memory(t, shelf, text+"one")
	w.Memory(t, shelf, text+"two")
	create := func(content string) loci.CreateMemory {
		return loci.CreateMemory{AtlasID: shelf, Content: loci.Content(content)}
	}
	if e := refused(t, w, proof.Owner, service.MemoryCreate, create(text+"three"), loci.QuotaExceeded); e.Retry == 0 {
		t.Error("nothing says when to come again")
	}
	do(t, w, proof.Owner, service.MemoryCreate, create("short"))
	refused(t, w, proof.Owner, service.MemoryAppend, loci.AppendMemory{MemoryID: first, Content: loci.Content(text)}, loci.QuotaExceeded)
	if used := do(t, w, proof.Owner, service.AccountStatus, loci.Nothing{}).Usage.Storage.UsedBytes; used > 2000 {
		t.Errorf("%d bytes are used", used)
	}
	do(t, w, proof.Owner, service.MemoryDelete, loci.DeleteMemory{MemoryID: first})
	do(t, w, proof.Owner, service.MemoryCreate, create(text+"three"))
}
