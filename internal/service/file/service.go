// Package file implements the operations of files: attachments of memories, and the signed addresses, uploads and
// downloads of their bytes.
package file

import (
	"cmp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// A Service runs the operations.
type Service struct {
	Options
	keys    keyCache
	uploads *limit.Semaphore[loci.ID] // by attachment
}

// Options are the dependencies and settings of a Service.
type Options struct {
	Store     *store.Store
	Clock     loci.Clock
	PublicURL string // the public address of the server, without a trailing slash

	// Bucket keeps the files of memories. Without one the calls of files are unavailable.
	Bucket  blob.Bucket
	MaxFile int64 // the most bytes of a file; 0 means DefaultMaxFile
	// BucketDown returns why the bucket did not answer its last check; it may be nil. Calls are refused meanwhile.
	BucketDown func() error
}

// DefaultMaxFile is the most bytes of a file where the operator sets no limit.
const DefaultMaxFile = 100 << 20

// New returns a Service.
func New(o Options) *Service {
	s := &Service{Options: o, uploads: newUploads()}
	s.MaxFile = cmp.Or(s.MaxFile, DefaultMaxFile)
	if s.Bucket != nil {
		s.Store.Jobs().Handle(memorydb.DeleteObjectJob, s.deleteObject)
	}
	return s
}
