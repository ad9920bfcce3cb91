package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
)

// Errors of buckets.
var (
	ErrNotFound = errors.New("blob: there is no such object")
	ErrExists   = errors.New("blob: there is such an object already")
	ErrFull     = errors.New("blob: there is no space left")
	// ErrLength is that of a body with another length than the one that was announced.
	ErrLength = errors.New("blob: the body has another length")
)

// A Bucket keeps objects. It may be used by several goroutines, and by several servers.
type Bucket interface {
	// Put stores a body of exactly size bytes as an object, or nothing. Of several calls for one id one succeeds; the
	// others return ErrExists.
	Put(ctx context.Context, id loci.ID, body io.Reader, size int64) error
	// Open opens an object, or returns ErrNotFound.
	Open(ctx context.Context, id loci.ID) (Reader, error)
	// Head describes an object, or returns ErrNotFound.
	Head(ctx context.Context, id loci.ID) (Object, error)
	// Delete deletes an object. It succeeds if there is none.
	Delete(ctx context.Context, id loci.ID) error
	// List yields all objects, in any order.
	List(ctx context.Context) iter.Seq2[Object, error]
	// Check returns an error unless the bucket can be read and written.
	Check(ctx context.Context) error
	// String names the bucket without secrets.
	String() string
}

// A Reader reads an object from any place.
type Reader interface {
	io.ReadSeekCloser
	Size() int64
}

// An Object describes an object.
type Object struct {
	ID         loci.ID
	Size       int64
	ModifiedAt time.Time
}

// MaxHead is the number of first bytes by which the type of an object is recognized.
const MaxHead = 3072

// A Digest describes the bytes of an object.
type Digest struct {
	Size   int64
	SHA256 string // hexadecimal
	Head   []byte // the first bytes
}

// A digester computes the digest of what is read through it.
type digester struct {
	io.Reader
	hash hash.Hash
	size int64
	head []byte
}

func newDigester(r io.Reader) *digester { return &digester{Reader: r, hash: sha256.New()} }

func (d *digester) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.hash.Write(p[:n])
	d.size += int64(n)
	if room := MaxHead - len(d.head); room > 0 {
		d.head = append(d.head, p[:min(n, room)]...)
	}
	return n, err
}

func (d *digester) digest() Digest {
	return Digest{d.size, hex.EncodeToString(d.hash.Sum(nil)), d.head}
}

// Store stores a body, and returns its digest.
func Store(ctx context.Context, b Bucket, id loci.ID, body io.Reader, size int64) (Digest, error) {
	d := newDigester(body)
	if err := b.Put(ctx, id, d, size); err != nil {
		return Digest{}, err
	}
	return d.digest(), nil
}

// Read reads an object, and returns its digest.
func Read(ctx context.Context, b Bucket, id loci.ID) (Digest, error) {
	r, err := b.Open(ctx, id)
	if err != nil {
		return Digest{}, err
	}
	defer r.Close()
	d := newDigester(contextio.NewReader(ctx, r))
	if _, err := io.Copy(io.Discard, d); err != nil {
		return Digest{}, fmt.Errorf("blob: read %s: %w", id, err)
	}
	return d.digest(), nil
}

// An exactReader reads a body of a known length. The last bytes come after a look for further ones: a body of another
// length ends with ErrLength before it is complete.
type exactReader struct {
	body io.Reader
	left int64
	err  error // that ended it
}

func (r *exactReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	var n int
	if r.left > 0 {
		n, r.err = r.body.Read(p[:min(int64(len(p)), r.left)])
		if r.left -= int64(n); r.left == 0 {
			r.err = nil
		} else if errors.Is(r.err, io.EOF) {
			r.err = ErrLength
		}
	}
	if r.left == 0 && r.err == nil {
		if r.err = r.look(); !errors.Is(r.err, io.EOF) {
			return 0, r.err
		}
	}
	return n, r.err
}

// look returns io.EOF at the end of the body.
func (r *exactReader) look() error {
	var one [1]byte
	n, err := io.ReadFull(r.body, one[:])
	if n > 0 {
		return ErrLength
	}
	return err
}
