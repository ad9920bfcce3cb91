package service_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// eachEmptyWorld is conformance.Each without users.
func eachEmptyWorld(t *testing.T, f func(t *testing.T, w *conformance.World)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		f(t, conformance.NewEmpty(t, d.Open, conformance.Options{}))
	})
}

// mustCreate makes a memory of a caller in an atlas.
func mustCreate(t *testing.T, w *conformance.World, actor conformance.Caller, atlas loci.ID, content string) loci.ID {
	t.Helper()
	return conformance.MustCall(t, w, actor, service.MemoryCreate,
		loci.CreateMemory{Content: loci.Content(content), AtlasID: atlas}).Memory.ID
}
