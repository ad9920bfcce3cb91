package file_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// A faultyBucket is a bucket whose calls fail while err is set.
type faultyBucket struct {
	blob.Bucket
	mu     sync.Mutex
	err    error
	spared int    // deletions that have failed
	onHead func() // called before the next Head, if set
}

func (b *faultyBucket) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *faultyBucket) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

func (b *faultyBucket) Put(ctx context.Context, id loci.ID, body io.Reader, size int64) error {
	if err := b.failure(); err != nil {
		return err
	}
	return b.Bucket.Put(ctx, id, body, size)
}

func (b *faultyBucket) Open(ctx context.Context, id loci.ID) (blob.Reader, error) {
	if err := b.failure(); err != nil {
		return nil, err
	}
	return b.Bucket.Open(ctx, id)
}

func (b *faultyBucket) Head(ctx context.Context, id loci.ID) (blob.Object, error) {
	if err := b.failure(); err != nil {
		return blob.Object{}, err
	}
	if f := b.onHead; f != nil {
		b.onHead = nil
		f()
	}
	return b.Bucket.Head(ctx, id)
}

func (b *faultyBucket) Delete(ctx context.Context, id loci.ID) error {
	if err := b.failure(); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.spared++
		return err
	}
	return b.Bucket.Delete(ctx, id)
}

// newFolder returns a bucket in a folder of the test.
func newFolder(t testing.TB) *faultyBucket {
	t.Helper()
	return &faultyBucket{Bucket: testenv.Must(blob.OpenFolder(t.TempDir()))(t)}
}

// startWithFolder gives a world a bucket in a folder of the test and starts its jobs. They end before the folder does.
func startWithFolder(t testing.TB, w *World) *faultyBucket {
	t.Helper()
	bucket := newFolder(t)
	w.Service.Files().Bucket = bucket
	w.Store.Jobs().Start(t.Context())
	t.Cleanup(func() { w.Store.Close() })
	return bucket
}

// objects lists the ids of the objects in a bucket.
func objects(t testing.TB, b blob.Bucket) (list []loci.ID) {
	t.Helper()
	for o, err := range b.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o.ID)
	}
	slices.Sort(list)
	return list
}

// announce announces a text as a file of a memory.
func announce(t *testing.T, w *World, caller Caller, memory loci.ID, text string) loci.Upload {
	t.Helper()
	return MustCall(t, w, caller, service.AttachmentUpload, loci.UploadAttachment{MemoryID: memory, FileName: "a.txt",
		Size: loci.FileSize(len(text)), MIMEType: "text/plain"})
}

// put uploads a text.
func put(w *World, a loci.Attachment, text string) error {
	return w.Service.StoreUpload(context.Background(), blob.Address{Method: blob.MethodPut, ID: a.ID, Size: a.Size,
		Type: a.MIMEType}, strings.NewReader(text))
}

// attach adds a text as a file to a memory.
func attach(t *testing.T, w *World, memory loci.ID, text string) loci.Attachment {
	t.Helper()
	a := announce(t, w, CallerOwner, memory, text).Attachment
	testenv.NoError(t, put(w, a, text))
	return confirm(t, w, a.ID)
}

func confirm(t *testing.T, w *World, id loci.ID) loci.Attachment {
	t.Helper()
	return MustCall(t, w, CallerOwner, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: id}).Attachment
}

// attachmentsOf returns the ids of the attachments that a memory shows.
func attachmentsOf(t *testing.T, w *World, memory loci.ID) (ids []loci.ID) {
	t.Helper()
	for _, a := range MustCall(t, w, CallerOwner, service.MemoryGet, loci.GetMemory{MemoryID: memory}).Attachments {
		ids = append(ids, a.ID)
	}
	return ids
}

// usedBytes returns the used storage of the owner.
func usedBytes(t *testing.T, w *World) int64 {
	t.Helper()
	return MustCall(t, w, CallerOwner, service.AccountStatus, loci.Empty{}).Usage.Storage.UsedBytes
}

// waitForObjects waits until a bucket has these objects alone.
func waitForObjects(t *testing.T, b blob.Bucket, want ...loci.ID) {
	t.Helper()
	slices.Sort(want)
	waittest.Until(t, func() bool { return slices.Equal(objects(t, b), want) })
}
