// Package purge erases records for good.
//
// A purge deletes the rows of a memory, a workspace or a user, and then every byte of them. Bytes are in segments of
// the keyword index, stored responses, the write-ahead log and free space. The WAL of PostgreSQL and its archive keep
// them until they are recycled.
package purge

import (
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/erasedb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/jobdb"
)

// A Purger erases records of a store.
type Purger struct {
	db         *sqldb.Handle
	index      *indexdb.Index
	eraser     *erasedb.Eraser
	jobs       *jobdb.Queue
	invalidate func(workspace int64) // drops cached data of a workspace
}

// New returns a purger of a store.
func New(s *store.Store) *Purger {
	return &Purger{db: s.DB(), index: s.Index(), eraser: s.Eraser(), jobs: s.Jobs(), invalidate: s.Invalidate}
}
