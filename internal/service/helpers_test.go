package service_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// newWorld returns a world on SQLite.
func newWorld(t *testing.T, o conformance.Options) *conformance.World {
	return conformance.New(t, conformance.OpenSQLite, o)
}

// eachEngine runs f in a world on every engine.
func eachEngine(t *testing.T, o conformance.Options, f func(t *testing.T, w *conformance.World)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		f(t, conformance.New(t, d.Open, o))
	})
}

// eachEmptyWorld is eachEngine without users.
func eachEmptyWorld(t *testing.T, f func(t *testing.T, w *conformance.World)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		f(t, conformance.NewEmpty(t, d.Open, conformance.Options{}))
	})
}

// mustCall calls an operation as a caller, and fails on an error.
func mustCall[In, Out any](t *testing.T, w *conformance.World, actor conformance.Caller, o op.TypedOp[In, Out],
	in In) Out {
	t.Helper()
	out, err := op.Do(t.Context(), w.Host, w.Call(actor), o, in)
	if err != nil {
		t.Fatalf("%s by %s: %v", o.Name, actor, err)
	}
	return out
}

// try calls an operation and returns its error.
func try[In, Out any](t *testing.T, w *conformance.World, actor conformance.Caller, o op.TypedOp[In, Out],
	in In) error {
	t.Helper()
	_, err := op.Do(t.Context(), w.Host, w.Call(actor), o, in)
	return err
}

// mustFail calls an operation as a caller, and expects an error code.
func mustFail[In, Out any](t *testing.T, w *conformance.World, actor conformance.Caller, o op.TypedOp[In, Out], in In,
	code loci.Code) *loci.Error {
	t.Helper()
	_, err := op.Do(t.Context(), w.Host, w.Call(actor), o, in)
	if !loci.Is(err, code) {
		t.Fatalf("%s by %s: %v, want %s", o.Name, actor, err, code)
	}
	return loci.AsError(err)
}

// eachEngineWithDB is eachEngine for tests that query the database directly.
func eachEngineWithDB(t *testing.T, f func(t *testing.T, w *conformance.World, d storetest.Database)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		f(t, conformance.New(t, d.Open, conformance.Options{}), d)
	})
}

// callIfMatch calls an operation with an If-Match tag.
func callIfMatch[In, Out any](t *testing.T, w *conformance.World, actor conformance.Caller, tag string,
	o op.TypedOp[In, Out], in In) (Out, error) {
	c := w.Call(actor)
	c.IfMatch = tag
	return op.Do(t.Context(), w.Host, c, o, in)
}

// mustCreate makes a memory of a caller in an atlas.
func mustCreate(t *testing.T, w *conformance.World, actor conformance.Caller, atlas loci.ID, content string) loci.ID {
	t.Helper()
	return mustCall(t, w, actor, service.MemoryCreate,
		loci.CreateMemory{Content: loci.Content(content), AtlasID: atlas}).Memory.ID
}

// mustGet reads a memory as its owner.
func mustGet(t *testing.T, w *conformance.World, id loci.ID) loci.Memory {
	t.Helper()
	return mustCall(t, w, conformance.CallerOwner, service.MemoryGet, loci.GetMemory{MemoryID: id}).Memory
}
