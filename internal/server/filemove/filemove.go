// Package filemove copies the objects of attachments from one bucket to another, beside a running server.
package filemove

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
)

// Options configure a copy.
type Options struct {
	DryRun   bool
	Progress func(done, total int64) // in bytes; may be nil
}

// A Result summarizes a copy.
type Result struct {
	From        string    `json:"from"`
	To          string    `json:"to"`
	DryRun      bool      `json:"dryRun,omitzero"`
	Copied      int64     `json:"copied"` // of a dry run those that would be copied
	CopiedBytes int64     `json:"copiedBytes"`
	Present     int64     `json:"present"` // at the target already; a dry run compares sizes alone
	Skipped     int64     `json:"skipped"` // of no attachment
	Failed      []Failure `json:"failed"`
}

// A Failure is an object that is not at the target.
type Failure struct {
	ID     loci.ID `json:"id"`
	Reason string  `json:"reason"`
}

// Objects of one query, and those that are copied at once.
const (
	batchSize = 100
	workers   = 8
)

// Copy copies the objects of all attachments, also those of pending uploads. It changes nothing at the source, and
// replaces nothing at the target. Each copy, and each object that is there already, is compared with the checksum of
// its attachment. An error of a bucket ends it; another call continues.
func Copy(ctx context.Context, db *sqldb.Handle, from, to blob.Bucket, o Options) (Result, error) {
	c := &copier{db: db, from: from, to: to, Options: o, seed: maphash.MakeSeed(), found: map[uint64]struct{}{},
		result: Result{From: from.String(), To: to.String(), DryRun: o.DryRun, Failed: []Failure{}}}
	err := c.run(ctx)
	slices.SortFunc(c.result.Failed, func(a, b Failure) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return c.result, err
}

type copier struct {
	Options
	db       *sqldb.Handle
	from, to blob.Bucket

	total int64
	seed  maphash.Seed
	found map[uint64]struct{} // hashes of the ids of the objects at the source

	mu     sync.Mutex // protects result and done
	result Result
	done   int64
}

func (c *copier) run(ctx context.Context) error {
	for o, err := range c.from.List(ctx) {
		if err != nil {
			return bucketError(c.from, err)
		}
		c.total += o.Size
	}
	var batch []blob.Object
	for o, err := range c.from.List(ctx) {
		if err != nil {
			return bucketError(c.from, err)
		}
		c.found[maphash.String(c.seed, string(o.ID))] = struct{}{}
		if batch = append(batch, o); len(batch) == batchSize {
			if err := c.copyBatch(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := c.copyBatch(ctx, batch); err != nil {
		return err
	}
	return c.findMissing(ctx)
}

// findMissing reports the active attachments that have no object on either side.
func (c *copier) findMissing(ctx context.Context) error {
	for after := int64(0); ; {
		list, err := sqldb.SystemRead(ctx, c.db, "list active attachments",
			func(t *sqldb.Tx) ([]attachmentdb.Record, error) { return attachmentdb.ListActive(t, after, 1000) })
		if err != nil || len(list) == 0 {
			return err
		}
		for _, a := range list {
			after = a.RowID
			if _, found := c.found[maphash.String(c.seed, string(a.ID))]; found {
				continue
			}
			if err := c.reportMissing(ctx, a.ID); err != nil {
				return err
			}
		}
	}
}

// reportMissing reports an attachment, unless an object appeared or the attachment was deleted meanwhile.
func (c *copier) reportMissing(ctx context.Context, id loci.ID) error {
	for _, b := range []blob.Bucket{c.to, c.from} {
		if _, err := b.Head(ctx, id); err == nil {
			return nil
		} else if !errors.Is(err, blob.ErrNotFound) {
			return bucketError(b, err)
		}
	}
	records, err := c.lookUp(ctx, []loci.ID{id})
	if _, ok := records[id]; ok {
		c.fail(id, "the file is missing at the source")
	}
	return err
}

// bucketError names the bucket of an error.
func bucketError(b blob.Bucket, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &loci.Error{Code: loci.CodeUnavailable, Message: fmt.Sprintf("%s: %v", b, err), Err: err}
}

// lookUp returns the attachments of objects.
func (c *copier) lookUp(ctx context.Context, ids []loci.ID) (map[loci.ID]attachmentdb.Record, error) {
	return sqldb.SystemRead(ctx, c.db, "look up the attachments of objects",
		func(t *sqldb.Tx) (map[loci.ID]attachmentdb.Record, error) { return attachmentdb.Find(t, ids) })
}

// copyBatch copies some objects. The copies of attachments that were deleted meanwhile are deleted again.
func (c *copier) copyBatch(ctx context.Context, batch []blob.Object) error {
	ids := make([]loci.ID, len(batch))
	for i, o := range batch {
		ids[i] = o.ID
	}
	records, err := c.lookUp(ctx, ids)
	if err != nil {
		return err
	}
	copied := make([]bool, len(batch))
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, o := range batch {
		group.Go(func() (err error) {
			if a, ok := records[o.ID]; ok {
				copied[i], err = c.handle(running, a, o)
			} else {
				c.count(func(r *Result) { r.Skipped++ })
			}
			c.advance(o.Size)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if records, err = c.lookUp(ctx, ids); err != nil {
		return err
	}
	for i, o := range batch {
		if _, ok := records[o.ID]; ok || !copied[i] {
			continue
		}
		if err := c.to.Delete(ctx, o.ID); err != nil {
			return bucketError(c.to, err)
		}
		c.count(func(r *Result) { r.Copied--; r.CopiedBytes -= o.Size; r.Skipped++ })
	}
	return nil
}

func (c *copier) count(change func(*Result)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.result)
}

// advance reports the progress, one call at a time.
func (c *copier) advance(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done += bytes; c.Progress != nil {
		c.Progress(min(c.done, c.total), c.total)
	}
}

func (c *copier) fail(id loci.ID, format string, args ...any) {
	c.count(func(r *Result) { r.Failed = append(r.Failed, Failure{id, fmt.Sprintf(format, args...)}) })
}

// handle copies one object, and reports whether it did.
func (c *copier) handle(ctx context.Context, a attachmentdb.Record, o blob.Object) (copied bool, err error) {
	there, err := c.to.Head(ctx, a.ID)
	switch {
	case errors.Is(err, blob.ErrNotFound):
	case err != nil:
		return false, bucketError(c.to, err)
	case there.Size != o.Size:
		c.fail(a.ID, "there is another file of this id with %d bytes, not %d", there.Size, o.Size)
		return false, nil
	case c.DryRun:
		c.count(func(r *Result) { r.Present++ })
		return false, nil
	default:
		return false, c.compare(ctx, a)
	}
	if c.DryRun {
		c.count(func(r *Result) { r.Copied++; r.CopiedBytes += o.Size })
		return false, nil
	}
	return c.copy(ctx, a)
}

// compare compares an object at the target with its attachment, or with the source where that has no checksum.
func (c *copier) compare(ctx context.Context, a attachmentdb.Record) error {
	want := a.StoredSHA256
	if want == "" {
		d, err := blob.Read(ctx, c.from, a.ID)
		if errors.Is(err, blob.ErrNotFound) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return bucketError(c.from, err)
		}
		want = d.SHA256
	}
	have, err := blob.Read(ctx, c.to, a.ID)
	switch {
	case err != nil:
		return bucketError(c.to, err)
	case have.SHA256 != want:
		c.fail(a.ID, "there is another file of this id, with the SHA-256 %s, not %s", have.SHA256, want)
	default:
		c.count(func(r *Result) { r.Present++ })
	}
	return nil
}

// copy copies an object that the target does not have, and reads the copy.
func (c *copier) copy(ctx context.Context, a attachmentdb.Record) (copied bool, err error) {
	r, err := c.from.Open(ctx, a.ID)
	if errors.Is(err, blob.ErrNotFound) {
		c.count(func(r *Result) { r.Skipped++ }) // deleted meanwhile
		return false, nil
	}
	if err != nil {
		return false, bucketError(c.from, err)
	}
	defer r.Close()
	if a.Status == loci.AttachmentActive && r.Size() != a.Size {
		c.fail(a.ID, "the file is damaged: it has %d bytes, and had %d", r.Size(), a.Size)
		return false, nil
	}
	body := &sourceReader{r: contextio.NewReader(ctx, r), hash: sha256.New(), want: a.StoredSHA256}
	err = c.to.Put(ctx, a.ID, body, r.Size())
	switch {
	case body.damaged:
		c.fail(a.ID, "the file is damaged: its SHA-256 is %s, and was %s", body.sum(), a.StoredSHA256)
		return false, nil
	case body.err != nil:
		return false, bucketError(c.from, body.err)
	case errors.Is(err, blob.ErrExists): // another run has copied it
		return false, c.compare(ctx, a)
	case err != nil:
		return false, bucketError(c.to, err)
	}
	have, err := blob.Read(ctx, c.to, a.ID)
	if err != nil {
		return false, bucketError(c.to, err)
	}
	if have.SHA256 != body.sum() {
		c.fail(a.ID, "the copy has another SHA-256 than was written, and was deleted")
		if err := c.to.Delete(ctx, a.ID); err != nil {
			return false, bucketError(c.to, err)
		}
		return false, nil
	}
	c.count(func(r *Result) { r.Copied++; r.CopiedBytes += have.Size })
	return true, nil
}

// errDamaged ends a body with another checksum than it had.
var errDamaged = errors.New("filemove: the file is damaged")

// A sourceReader reads an object of the source. In place of io.EOF it returns an error if the checksum is another one,
// so that nothing is stored.
type sourceReader struct {
	r    io.Reader
	hash hash.Hash
	want string // empty if it is not known

	damaged bool
	err     error // of the source
}

func (s *sourceReader) sum() string { return hex.EncodeToString(s.hash.Sum(nil)) }

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.hash.Write(p[:n])
	switch {
	case errors.Is(err, io.EOF) && s.want != "" && s.sum() != s.want:
		s.damaged, err = true, errDamaged
	case err != nil && !errors.Is(err, io.EOF):
		s.err = err
	}
	return n, err
}
