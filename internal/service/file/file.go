package file

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/filetoken"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// SecretAge is the age at which the secret of signed addresses and file tokens is replaced.
const SecretAge = 30 * 24 * time.Hour

// Times of the secrets. Each server reads them again after secretsTTL. A new one signs after secretDelay, when all
// servers know it.
const (
	secretsTTL  = time.Minute
	secretDelay = 10 * time.Minute
)

// A keySet holds the keys of files. The first ones sign.
type keySet struct {
	tokens    filetoken.Keys
	addresses blob.Keys
}

// newKeySet derives the keys from secrets, the newest first.
func newKeySet(secrets []store.FileSecret, now loci.Time) keySet {
	signer := signerOf(secrets, now)
	var k keySet
	for i := range secrets {
		secret := secrets[(signer+i)%len(secrets)].Secret
		k.tokens, k.addresses = append(k.tokens, filetoken.NewKey(secret)), append(k.addresses, secret)
	}
	return k
}

// signerOf returns the index of the secret that signs.
func signerOf(secrets []store.FileSecret, now loci.Time) int {
	for i, x := range secrets {
		if x.CreatedAt <= now-loci.Time(secretDelay.Microseconds()) {
			return i
		}
	}
	return len(secrets) - 1
}

// keyCache caches the keys of files.
type keyCache struct {
	mu     sync.Mutex
	keys   keySet
	readAt time.Time
}

// load returns the keys. The first call of a database makes a secret.
func (c *keyCache) load(ctx context.Context, s *Service) (keySet, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.Clock()
	if age := now.Sub(c.readAt); age >= 0 && age < secretsTTL { // a clock that was set back keeps no keys
		return c.keys, nil
	}
	secrets, err := store.SystemRead(ctx, s.Store, "read the secrets of files", (*store.SystemTx).FileSecrets)
	if err == nil && len(secrets) == 0 {
		secrets, err = store.System(ctx, s.Store, "make a secret of files",
			func(t *store.SystemTx) ([]store.FileSecret, error) {
				return t.RotateFileSecrets(SecretAge)
			})
	}
	if err == nil {
		c.keys, c.readAt = newKeySet(secrets, s.Store.Now()), now
	}
	return c.keys, err
}

// newUploads bounds the uploads of an object to one at a time.
func newUploads() *limit.Semaphore[loci.ID] {
	return limit.NewSemaphore[loci.ID](limit.Bounds{PerKey: 1, Refusal: limit.Refusal{Name: "uploads of an object",
		Code: loci.CodeStateConflict, RetryAfter: bucketRetry,
		Message: "Another upload to this address is running: wait for its end."}})
}

// requireBucket returns unavailable without a bucket, and while it does not answer.
func (s *Service) requireBucket() error {
	if s.Bucket == nil {
		return loci.Errorf(loci.CodeUnavailable, "This process stores no files.")
	}
	if s.BucketDown == nil {
		return nil
	}
	return bucketError(s.BucketDown())
}

// bucketRetry is the Retry-After of a call that a bucket has failed.
const bucketRetry = 10 * time.Second

// bucketError returns the error of a call for one of its bucket.
func bucketError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blob.ErrFull):
		return &loci.Error{Code: loci.CodeStorageFull, Message: "The file store is full: tell the operator.",
			RetryAfter: bucketRetry, Err: err}
	}
	return &loci.Error{Code: loci.CodeUnavailable, RetryAfter: bucketRetry, Err: err,
		Message: "The file store does not answer: try again later."}
}

// VerifyFileAddress returns the signed address of a request for an object.
func (s *Service) VerifyFileAddress(ctx context.Context, method string, id loci.ID,
	query string) (blob.Address, error) {
	keys, err := s.keys.load(ctx, s)
	if err != nil {
		return blob.Address{}, err
	}
	a, err := keys.addresses.Verify(method, id, query, s.Clock())
	switch {
	case errors.Is(err, blob.ErrExpired):
		return a, loci.Errorf(loci.CodeForbidden, "The address has expired: ask for a new one.")
	case err != nil:
		return a, loci.Errorf(loci.CodeForbidden,
			"The address is not signed by this server, or was changed: ask for a new one.")
	}
	return a, nil
}

// FileOwner returns the owner of the workspace of an attachment, to whom a transfer counts.
func (s *Service) FileOwner(ctx context.Context, id loci.ID) (loci.ID, error) {
	return store.SystemRead(ctx, s.Store, "look up the owner of a file",
		func(t *store.SystemTx) (loci.ID, error) { return attachmentdb.Owner(t, id) })
}

// StoreUpload stores the body of an upload under a signed address. The first one stays.
func (s *Service) StoreUpload(ctx context.Context, a blob.Address, body io.Reader) error {
	end, err := s.uploads.TryAcquire(a.ID, 1)
	if err != nil {
		return err
	}
	defer end()
	if err := s.checkUpload(ctx, a); err != nil {
		return err
	}
	watched := &watchedBody{Reader: body, clock: s.Clock, checked: s.Clock(),
		check: func() error { return s.checkUpload(ctx, a) }}
	d, err := blob.Store(ctx, s.Bucket, a.ID, watched, a.Size)
	if err != nil && !errors.Is(err, blob.ErrExists) && !errors.Is(err, blob.ErrLength) {
		s.deleteLostObject(ctx, a.ID)
	}
	switch {
	case watched.err != nil:
		return watched.err
	case errors.Is(err, blob.ErrExists):
		return loci.Errorf(loci.CodeStateConflict, "The file was uploaded already: confirm it.")
	case errors.Is(err, blob.ErrLength):
		return loci.Errorf(loci.CodeForbidden, "The body has another length than was announced: send %d bytes.", a.Size)
	case errors.Is(err, errBody):
		return loci.Errorf(loci.CodeInvalidQuery, "The body ended too early: send it again.")
	case err != nil:
		return bucketError(err)
	}
	pending, err := store.System(context.WithoutCancel(ctx), s.Store, "record an upload",
		func(t *store.SystemTx) (bool, error) {
			return attachmentdb.SetStored(t, a.ID, recognize(d.Head), d.SHA256)
		})
	if err == nil && !pending {
		err = loci.NewError(loci.CodeNotFound)
	}
	return err
}

// uploadCheckInterval is how often a running upload is checked.
const uploadCheckInterval = time.Second

// A watchedBody ends an upload that is not expected any more.
type watchedBody struct {
	io.Reader
	clock   loci.Clock
	checked time.Time
	check   func() error
	err     error // of check
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	if now := b.clock(); b.err == nil && now.Sub(b.checked) >= uploadCheckInterval {
		if err := b.check(); loci.Is(err, loci.CodeNotFound) || loci.Is(err, loci.CodeStateConflict) {
			b.err = err
		}
		b.checked = now
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.Reader.Read(p)
}

// lostObjectDelay is when a bucket has ended an upload that its client has left.
const lostObjectDelay = 5 * time.Minute

// deleteLostObject adds the job that deletes the object of a failed upload if its attachment is gone: a bucket may have
// stored it although its answer is lost. The object of another attachment is deleted with it.
func (s *Service) deleteLostObject(ctx context.Context, id loci.ID) {
	_, _ = store.System(context.WithoutCancel(ctx), s.Store, "delete the object of a lost upload",
		func(t *store.SystemTx) (loci.Empty, error) {
			if _, err := attachmentdb.Any(t, id); !loci.Is(err, loci.CodeNotFound) {
				return loci.Empty{}, err
			}
			return loci.Empty{}, t.AddDelayedJob(memorydb.DeleteObjectJob, id, lostObjectDelay)
		})
}

// errBody is the error of a body that did not arrive.
var errBody = errors.New("file: the body did not arrive")

// A Body is the body of an upload. It tells its own errors from those of the bucket.
type Body struct{ io.Reader }

// Read implements io.Reader.
func (b Body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = errors.Join(errBody, err)
	}
	return n, err
}

// checkUpload returns an error unless an upload to an address is expected.
func (s *Service) checkUpload(ctx context.Context, a blob.Address) error {
	if err := s.requireBucket(); err != nil {
		return err
	}
	x, err := store.SystemRead(ctx, s.Store, "look up an upload",
		func(t *store.SystemTx) (attachmentdb.Record, error) { return attachmentdb.Live(t, a.ID) })
	switch {
	case err != nil:
		return err
	case x.Status == loci.AttachmentActive:
		return loci.Errorf(loci.CodeStateConflict, "The upload is confirmed: announce another file.")
	case x.StoredSHA256 != "":
		return loci.Errorf(loci.CodeStateConflict, "The file was uploaded already: confirm it.")
	}
	return nil
}

// OpenDownload opens the object of an active attachment. Its caller closes it.
func (s *Service) OpenDownload(ctx context.Context, id loci.ID) (loci.Attachment, blob.Reader, error) {
	a, err := s.CheckDownload(ctx, id)
	if err == nil {
		err = s.requireBucket()
	}
	if err != nil {
		return a, nil, err
	}
	r, err := s.Bucket.Open(ctx, id)
	if errors.Is(err, blob.ErrNotFound) {
		if _, gone := s.CheckDownload(ctx, id); gone != nil { // deleted at this moment
			return a, nil, gone
		}
		return a, nil, &loci.Error{Code: loci.CodeInternalError, Err: err,
			Message: "The file is missing in the file store: tell the operator of the server."}
	}
	return a, r, bucketError(err)
}

// CheckDownload returns an attachment that may be downloaded.
func (s *Service) CheckDownload(ctx context.Context, id loci.ID) (loci.Attachment, error) {
	x, err := store.SystemRead(ctx, s.Store, "look up a download",
		func(t *store.SystemTx) (attachmentdb.Record, error) { return attachmentdb.Live(t, id) })
	if err == nil && x.Status != loci.AttachmentActive {
		err = loci.NewError(loci.CodeNotFound)
	}
	return x.Attachment, err
}
