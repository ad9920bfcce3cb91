package service_test

import (
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// eachEmptyWorld is Each without users.
func eachEmptyWorld(t *testing.T, f func(t *testing.T, w *World)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		f(t, NewEmpty(t, d.Open, Options{}))
	})
}

// mustCreate makes a memory of a caller in an atlas.
func mustCreate(t *testing.T, w *World, actor Caller, atlas loci.ID, content string) loci.ID {
	t.Helper()
	return MustCall(t, w, actor, service.MemoryCreate,
		loci.CreateMemory{Content: loci.Content(content), AtlasID: atlas}).Memory.ID
}
