package filemove_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/blob/blobtest"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/server/filemove"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A moveTest has a memory of a user on a server whose files are in a folder.
type moveTest struct {
	*testing.T
	s      *store.Store
	svc    *service.Service
	ann    *identity.Actor
	memory loci.ID
	from   blob.Bucket
}

func newMoveTest(t *testing.T, d storetest.Database) *moveTest {
	t.Helper()
	x := &moveTest{T: t, s: d.Open(t, store.Options{}), from: newFolder(t)}
	x.svc = service.New(service.Options{Store: x.s, Clock: time.Now, Bucket: x.from})
	x.ann = storetest.User(t, x.s, "ann")
	x.memory = storetest.Add(t, x.s, x.ann, "", "A memory with files").ID
	return x
}

func newFolder(t *testing.T) blob.Bucket {
	t.Helper()
	f, err := blob.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// upload uploads a file, and confirms it if confirm is set.
func (x *moveTest) upload(text string, confirm bool) loci.ID {
	x.Helper()
	out, err := x.svc.UploadAttachment(x.Context(), x.ann, loci.UploadAttachment{MemoryID: x.memory, FileName: "a.txt",
		Size: loci.FileSize(len(text)), MIMEType: "text/plain"})
	a := out.Attachment
	if err == nil {
		err = x.svc.StoreUpload(x.Context(), blob.Address{Method: blob.MethodPut, ID: a.ID, Size: a.Size,
			Type: a.MIMEType}, strings.NewReader(text))
	}
	if err == nil && confirm {
		_, err = x.svc.ConfirmAttachment(x.Context(), x.ann, loci.GetAttachment{AttachmentID: a.ID})
	}
	if err != nil {
		x.Fatal(err)
	}
	return a.ID
}

// move copies the files to a bucket, and compares the counts of the result.
func (x *moveTest) move(to blob.Bucket, o filemove.Options, copied, present, skipped, failed int64) filemove.Result {
	x.Helper()
	r, err := filemove.Copy(x.Context(), x.s.DB(), x.from, to, o)
	if err != nil || r.Copied != copied || r.Present != present || r.Skipped != skipped ||
		int64(len(r.Failed)) != failed {
		x.Errorf("%+v, %v", r, err)
	}
	return r
}

func content(t *testing.T, b blob.Bucket, id loci.ID) string {
	t.Helper()
	r, err := b.Open(t.Context(), id)
	if errors.Is(err, blob.ErrNotFound) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// replace replaces an object.
func replace(t *testing.T, b blob.Bucket, id loci.ID, text string) {
	t.Helper()
	if err := b.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), id, strings.NewReader(text), int64(len(text))); err != nil {
		t.Fatal(err)
	}
}

func testCopy(x *moveTest, to blob.Bucket) {
	first, pending, empty := x.upload("first", true), x.upload("pending", false), x.upload("", true)
	replace(x.T, x.from, loci.NewID(time.Now()), "nobody's")
	done := int64(0)
	r := x.move(to, filemove.Options{DryRun: true}, 3, 0, 1, 0)
	if r.CopiedBytes != 12 || content(x.T, to, first) != "none" {
		x.Errorf("a dry run: %+v", r)
	}
	x.move(to, filemove.Options{Progress: func(n, total int64) { done = max(done, n*1000+total) }}, 3, 0, 1, 0)
	if a, b, c := content(x.T, to, first), content(x.T, to, pending), content(x.T, to, empty); a != "first" ||
		b != "pending" || c != "" || done != 20020 {
		x.Errorf("%q, %q, %q, progress %d", a, b, c, done)
	}
	second := x.upload("second", true)
	x.move(to, filemove.Options{DryRun: true}, 1, 3, 1, 0)
	x.move(to, filemove.Options{}, 1, 3, 1, 0)

	damaged, lost := x.upload("third", true), x.upload("lost", true)
	if err := x.from.Delete(x.Context(), lost); err != nil {
		x.Fatal(err)
	}
	replace(x.T, x.from, damaged, "Third")
	replace(x.T, to, first, "First")
	replace(x.T, to, second, "longer")
	replace(x.T, to, empty, "longer")
	r = x.move(to, filemove.Options{}, 0, 1, 1, 5)
	if content(x.T, to, damaged) != "none" || content(x.T, to, first) != "First" {
		x.Errorf("%+v", r)
	}
}

func TestCopyComparesFiles(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) { testCopy(newMoveTest(t, d), newFolder(t)) })
}

func TestCopyReachesBucketOfS3(t *testing.T) {
	t.Parallel()
	to, err := blob.OpenS3(blobtest.NewBucket(t), blobtest.Keys)
	if err != nil {
		t.Fatal(err)
	}
	x := newMoveTest(t, storetest.Database{Dir: storetest.NewDir(t)})
	testCopy(x, to)

	// back
	for o, err := range to.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		replace(t, to, o.ID, content(t, x.from, o.ID))
	}
	folder := newFolder(t)
	x.from = to
	x.move(folder, filemove.Options{}, 4, 0, 0, 2) // the target lacks the damaged and the lost one
}

// A deletingBucket deletes attachments when an object is stored.
type deletingBucket struct {
	blob.Bucket
	deleted func()
	err     error
}

func (b deletingBucket) Put(ctx context.Context, id loci.ID, body io.Reader, size int64) error {
	if b.deleted(); b.err != nil {
		return b.err
	}
	return b.Bucket.Put(ctx, id, body, size)
}

func TestCopyFollowsDeletionsAndErrors(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newMoveTest(t, d)
		id := x.upload("first", true)
		to := deletingBucket{Bucket: newFolder(t), deleted: func() {}, err: errors.New("the bucket is away")}
		if _, err := filemove.Copy(t.Context(), x.s.DB(), x.from, to, filemove.Options{}); !loci.Is(err,
			loci.CodeUnavailable) || !strings.Contains(err.Error(), "the bucket is away") {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := filemove.Copy(ended, x.s.DB(), x.from, to, filemove.Options{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		to.err, to.deleted = nil, func() {
			if _, err := x.svc.DeleteAttachments(t.Context(), x.ann,
				loci.DeleteAttachments{AttachmentIDs: []loci.ID{id}}); err != nil {
				t.Error(err)
			}
		}
		x.move(to, filemove.Options{}, 0, 0, 1, 0)
		if got := content(t, to, id); got != "none" {
			t.Errorf("the copy of a deleted attachment is %q", got)
		}
	})
}
