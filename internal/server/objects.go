package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/server/filemove"
	"github.com/loci-memory/loci/internal/store/integrity"
)

// checkedObjects are the objects of a bucket for a check.
type checkedObjects struct{ blob.Bucket }

// List implements integrity.Objects.
func (b checkedObjects) List(ctx context.Context) iter.Seq2[integrity.Object, error] {
	return func(yield func(integrity.Object, error) bool) {
		for o, err := range b.Bucket.List(ctx) {
			if !yield(integrity.Object(o), err) {
				return
			}
		}
	}
}

// Head implements integrity.Objects.
func (b checkedObjects) Head(ctx context.Context, id loci.ID) (integrity.Object, bool, error) {
	o, err := b.Bucket.Head(ctx, id)
	if errors.Is(err, blob.ErrNotFound) {
		return integrity.Object{}, false, nil
	}
	return integrity.Object(o), err == nil, err
}

// Shared implements integrity.Objects. The folder of files is in the data folder of one database.
func (b checkedObjects) Shared() bool {
	_, isFolder := b.Bucket.(*blob.Folder)
	return !isFolder
}

// openBucketOrClosed opens the bucket of the server, or returns one that fails each call. The server has the keys of
// its bucket, and most commands of its operator need no files.
func (s Settings) openBucketOrClosed() blob.Bucket {
	b, err := s.openBucket()
	if err != nil {
		return closedBucket{s.Blobs, fmt.Errorf("LOCI_BLOBS of the server: %w", err)}
	}
	return b
}

// A closedBucket is one that this process cannot open.
type closedBucket struct {
	address string
	err     error
}

// Put implements blob.Bucket.
func (b closedBucket) Put(context.Context, loci.ID, io.Reader, int64) error { return b.err }

// Open implements blob.Bucket.
func (b closedBucket) Open(context.Context, loci.ID) (blob.Reader, error) { return nil, b.err }

// Head implements blob.Bucket.
func (b closedBucket) Head(context.Context, loci.ID) (blob.Object, error) {
	return blob.Object{}, b.err
}

// Delete implements blob.Bucket.
func (b closedBucket) Delete(context.Context, loci.ID) error { return b.err }

// List implements blob.Bucket.
func (b closedBucket) List(context.Context) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) { yield(blob.Object{}, b.err) }
}

// Check implements blob.Bucket.
func (b closedBucket) Check(context.Context) error { return b.err }

func (b closedBucket) String() string { return b.address }

// CopyFiles copies the files of all attachments from one file store to another, which are values of LOCI_BLOBS. An
// empty source is the store of the server.
func (a *Admin) CopyFiles(ctx context.Context, from, to string, o filemove.Options) (r filemove.Result, err error) {
	source := a.Bucket
	if from != "" {
		if source, err = a.settings.bucketAt("from", from); err != nil {
			return r, err
		}
	}
	target, err := a.settings.bucketAt("to", to)
	if err != nil {
		return r, err
	}
	if source.String() == target.String() {
		return r, loci.Errorf(loci.CodeInvalidQuery, "The files are in the %s already: name another with --to, or the "+
			"former one with --from.", target)
	}
	if _, isFolder := target.(*blob.Folder); !o.DryRun || !isFolder { // the check of a folder makes it
		if err := target.Check(ctx); err != nil {
			return r, &loci.Error{Code: loci.CodeUnavailable, Message: fmt.Sprintf("%s: %v", target, err), Err: err}
		}
	}
	return filemove.Copy(ctx, a.Store.DB(), source, target, o)
}

// bucketAt opens the bucket of a flag.
func (s Settings) bucketAt(flag, address string) (blob.Bucket, error) {
	if address != blobsFile && !strings.HasPrefix(address, "s3://") {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "--%s: must be file, or an address s3://BUCKET/PREFIX", flag)
	}
	s.Blobs = address
	b, err := s.openBucket()
	if err != nil {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "--%s: %v", flag, err)
	}
	return b, nil
}

// FileStore returns the value of LOCI_BLOBS of the server.
func (a *Admin) FileStore() string { return cmp.Or(a.settings.Blobs, blobsFile) }
