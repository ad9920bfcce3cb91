package replica_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/pairdb"
	"github.com/loci-memory/loci/internal/testenv"
)

// A memory that was superseded since the last copy loses its replacement by a deletion that is copied. Its change is
// still copied afterwards.
func TestDeletionOfReplacementKeepsTheChangeOfTheReplacedMemory(t *testing.T) {
	t.Parallel()
	c := newWorld(t).couple()
	old, replacement := add(c.callers[0], loci.CreateMemory{Content: "old"}), add(c.callers[0],
		loci.CreateMemory{Content: "new"})
	c.run(pairdb.There)
	copies := map[string]loci.ID{}
	for _, m := range all(c.callers[1]) {
		copies[m.Content] = m.ID
	}
	must(do(c.callers[0], service.MemorySupersede, loci.SupersedeMemory{MemoryID: old.ID,
		ReplacementMemoryID: replacement.ID}))
	must(do(c.callers[1], service.MemoryDelete, loci.DeleteMemory{MemoryID: copies["new"]}))
	c.run(pairdb.Here, func(o *replica.Options) { o.Delete = true })
	if n := len(all(c.callers[0])); n != 1 {
		t.Fatalf("%d memories are left", n)
	}
	c.run(pairdb.There)
	if m := all(c.callers[1])[0]; m.Status != loci.MemoryArchived {
		t.Errorf("the copy is %s", m.Status)
	}
}

// Files change the entity tag of a memory, and are not copied.
func TestChangesOfMemoriesWithFilesAreCopied(t *testing.T) {
	t.Parallel()
	c := newWorld(t).couple()
	m := add(c.callers[0], loci.CreateMemory{Content: "one"})
	c.run(pairdb.There)
	for _, caller := range c.callers {
		id := all(caller)[0].ID
		a := must(do(caller, service.AttachmentUpload, loci.UploadAttachment{MemoryID: id, FileName: "a", Size: 1,
			MIMEType: "text/plain"})).Attachment
		testenv.NoError(t, c.w.svc.StoreUpload(t.Context(), blob.Address{ID: a.ID, Size: 1},
			strings.NewReader("x")))
		must(do(caller, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: a.ID}))
	}
	content := loci.Content("two")
	must(do(c.callers[0], service.MemoryUpdate, loci.UpdateMemory{MemoryID: m.ID, Content: &content}))
	must(do(c.callers[0], service.MemoryArchive, loci.ArchiveMemory{MemoryID: m.ID}))
	if r := c.run(pairdb.There); !r.OK {
		t.Fatalf("%+v", r)
	}
	if got := all(c.callers[1])[0]; got.Content != "two" || got.Status != loci.MemoryArchived {
		t.Errorf("the copy is %+v", got)
	}
	must(do(c.callers[0], service.MemoryRestore, loci.RestoreMemory{MemoryID: m.ID}))
	if r := c.run(pairdb.There); !r.OK || all(c.callers[1])[0].Status != loci.MemoryActive {
		t.Errorf("%+v", r)
	}
}
