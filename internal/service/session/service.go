// Package session implements the operations of sessions: their events, candidates and units, what is extracted from
// them, and the policy of automatic memory.
package session

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
)

// A Service runs the operations.
type Service struct {
	Options
	extraction extractionCounts
}

// Options are the dependencies and settings of a Service. The functions are what it needs of the operations of
// memories.
type Options struct {
	Store *store.Store

	// Extractor extracts statements with a language model, within DailyTokens of all servers. Without it rules alone
	// extract.
	Extractor   extract.Model
	DailyTokens int64

	// Route returns the atlas for a memory, and the reason.
	Route func(*store.Tx, loci.CreateMemory, loci.Memory) (*store.Atlas, loci.Routing, error)
	// Context returns the context snapshot of an atlas.
	Context func(tx *store.Tx, atlas loci.ID, tokens int) (loci.MemoryContext, error)
	// Search returns the memories of an atlas that hold words of a query, best first.
	Search func(ctx context.Context, actor *identity.Actor, query loci.Query, atlas loci.ID, limit int) ([]loci.Memory,
		error)
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{Options: o}
	if s.Extractor != nil {
		s.Store.Jobs().Handle(extractEvent, s.extractJob)
	}
	return s
}
