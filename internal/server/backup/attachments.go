package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
)

// Attachments describes the files of the active attachments in a backup.
type Attachments struct {
	Count int64 `json:"count"` // in the archive
	Bytes int64 `json:"bytes"`

	Missing []loci.ID `json:"missing"` // deleted during the backup, or lost or cut off before
	Damaged []loci.ID `json:"damaged"` // with another checksum than they had
}

// In an archive the files of attachments follow the database, in the order of its rows. A summary ends the archive.
const (
	attachmentsDir  = "files/"
	attachmentsName = "files.json"
	maxAttachments  = 64 << 20 // bytes of the summary
)

// storeError is the error for a bucket that fails.
func storeError(b blob.Bucket, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &loci.Error{Code: loci.CodeUnavailable, Message: fmt.Sprintf("%s: %v", b, err), Err: err}
}

// writeAttachments writes the files of the attachments in the copy of the database. One that is missing or damaged is
// listed.
func (s Source) writeAttachments(ctx context.Context, w archiveWriter, dir string,
	progress Progress) (*Attachments, error) {
	settings, err := sqlite.ReadMetadata(dir, "settings")
	if err != nil {
		return nil, err
	}
	bucket, err := s.OpenBucket(settings)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	if err := sqlite.EachFile(ctx, dir, func(f sqlite.StoredFile) error { total += f.Size; return nil }); err != nil {
		return nil, err
	}
	a := &Attachments{Missing: []loci.ID{}, Damaged: []loci.ID{}}
	err = sqlite.EachFile(ctx, dir, func(f sqlite.StoredFile) error {
		r, err := bucket.Open(ctx, f.ID)
		if errors.Is(err, blob.ErrNotFound) {
			a.Missing = append(a.Missing, f.ID)
			return nil
		}
		if err != nil {
			return storeError(bucket, err)
		}
		defer r.Close()
		if r.Size() != f.Size {
			a.Missing = append(a.Missing, f.ID)
			return nil
		}
		if err := w.create(attachmentsDir+string(f.ID), f.Size); err != nil {
			return err
		}
		body := &hashReader{r: contextio.NewReader(ctx, r), hash: sha256.New()}
		if _, err := io.Copy(w, body); err != nil {
			if body.err != nil {
				err = storeError(bucket, err)
			}
			return err
		}
		if body.n != f.Size {
			return storeError(bucket, fmt.Errorf("the file of %s ended after %d of %d bytes", f.ID, body.n, f.Size))
		}
		if body.sum() != f.SHA256 {
			a.Damaged = append(a.Damaged, f.ID)
		}
		a.Count++
		a.Bytes += f.Size
		progress(a.Bytes, total)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a, w.writeJSON(attachmentsName, a)
}

// errDamagedFile ends the body of a file with another checksum than its attachment has.
var errDamagedFile = errors.New("backup: the file is damaged")

// A hashReader computes the checksum of what is read through it. If it is to be another one, errDamagedFile takes the
// place of io.EOF, so that no bucket stores the body.
type hashReader struct {
	r    io.Reader
	hash hash.Hash
	want string // empty for any

	n   int64
	err error // that ended it, other than io.EOF
}

func (h *hashReader) sum() string { return hex.EncodeToString(h.hash.Sum(nil)) }

func (h *hashReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.hash.Write(p[:n])
	h.n += int64(n)
	if errors.Is(err, io.EOF) && h.want != "" && h.sum() != h.want {
		err = errDamagedFile
	}
	if err != nil && !errors.Is(err, io.EOF) {
		h.err = err
	}
	return n, err
}

// A storeFunc stores a file, whose body it reads to its end.
type storeFunc func(f sqlite.StoredFile, body io.Reader) error

// An attachmentReader reads the files of attachments from an archive.
type attachmentReader struct {
	in       *tar.Reader
	longest  int64 // bytes of the archive
	store    storeFunc
	progress Progress

	head *tar.Header // the next file
	sum  Attachments
}

// read compares the files with the attachments of the database in dir, stores them, and compares the summary.
func (r *attachmentReader) read(ctx context.Context, dir string) (_ *Attachments, err error) {
	r.sum = Attachments{Missing: []loci.ID{}, Damaged: []loci.ID{}}
	if err := r.next(); err != nil {
		return nil, err
	}
	if err := sqlite.EachFile(ctx, dir, r.readFile); err != nil {
		return nil, err
	}
	if r.head.Name != attachmentsName || r.head.Size > maxAttachments {
		return nil, damagedError(fmt.Errorf("%q is not %s, which ends it", r.head.Name, attachmentsName))
	}
	var want Attachments
	text, err := io.ReadAll(r.in)
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err == nil && (want.Count != r.sum.Count || want.Bytes != r.sum.Bytes ||
		!slices.Equal(want.Missing, r.sum.Missing) || !slices.Equal(want.Damaged, r.sum.Damaged)) {
		err = fmt.Errorf("it has %d files of attachments, %d missing and %d damaged ones, and had %d, %d and %d",
			r.sum.Count, len(r.sum.Missing), len(r.sum.Damaged), want.Count, len(want.Missing), len(want.Damaged))
	}
	if err != nil {
		return nil, damagedError(err)
	}
	return &r.sum, nil
}

// next reads the header of the next file.
func (r *attachmentReader) next() (err error) {
	if r.head, err = r.in.Next(); err == nil {
		err = checkRegular(r.head)
	}
	if err == nil && r.head.Size > r.longest {
		err = fmt.Errorf("%s has %d bytes, the whole backup %d: it is cut off", r.head.Name, r.head.Size, r.longest)
	}
	if err != nil {
		return damagedError(err)
	}
	return nil
}

// readFile reads the file of an attachment, if it is the next one.
func (r *attachmentReader) readFile(f sqlite.StoredFile) error {
	if r.head.Name != attachmentsDir+string(f.ID) {
		r.sum.Missing = append(r.sum.Missing, f.ID)
		return nil
	}
	if r.head.Size != f.Size {
		return damagedError(fmt.Errorf("%s has %d bytes, and its attachment %d", r.head.Name, r.head.Size, f.Size))
	}
	body := &hashReader{r: r.in, hash: sha256.New(), want: f.SHA256}
	err := r.store(f, body)
	switch {
	case errors.Is(body.err, errDamagedFile):
		r.sum.Damaged = append(r.sum.Damaged, f.ID)
	case body.err != nil:
		return damagedError(body.err)
	case err != nil:
		return err
	}
	r.sum.Count++
	r.sum.Bytes += f.Size
	r.progress(r.sum.Bytes, max(r.sum.Bytes, r.longest))
	return r.next()
}

// restoredFiles are the files of a restore in a bucket.
type restoredFiles struct {
	bucket blob.Bucket
	stored []loci.ID
}

// store stores a file that the bucket does not have.
func (s *restoredFiles) store(ctx context.Context, f sqlite.StoredFile, body io.Reader) error {
	err := s.bucket.Put(ctx, f.ID, body, f.Size)
	if err == nil {
		s.stored = append(s.stored, f.ID)
		return nil
	}
	if !errors.Is(err, blob.ErrExists) {
		return storeError(s.bucket, err)
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return err
	}
	have, err := blob.Read(ctx, s.bucket, f.ID)
	switch {
	case err != nil:
		return storeError(s.bucket, err)
	case have.Size != f.Size || have.SHA256 != f.SHA256:
		return loci.Errorf(loci.CodeConflict, "the %s has another file %s than the backup, and it stays: move it "+
			"away, or restore into another folder or bucket", s.bucket, f.ID)
	}
	return nil
}

// remove deletes the stored files.
func (s *restoredFiles) remove(ctx context.Context) (err error) {
	for _, id := range s.stored {
		err = errors.Join(err, s.bucket.Delete(ctx, id))
	}
	return err
}
