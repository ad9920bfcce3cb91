package service_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// world returns one on SQLite.
func world(t *testing.T, o proof.Options) *proof.World { return proof.New(t, proof.SQLite, o) }

// each runs f in a world on every engine.
func each(t *testing.T, o proof.Options, f func(t *testing.T, w *proof.World)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		f(t, proof.New(t, d.Open, o))
	})
}

// empty is each with nobody there.
func empty(t *testing.T, f func(t *testing.T, w *proof.World)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		f(t, proof.Empty(t, d.Open, proof.Options{}))
	})
}

// do calls an operation as somebody, and expects it to be done.
func do[In, Out any](t *testing.T, w *proof.World, who proof.Caller, o op.Of[In, Out], in In) Out {
	t.Helper()
	out, err := op.Do(t.Context(), w.Host, w.Call(who), o, in)
	if err != nil {
		t.Fatalf("%s by %s: %v", o.Name, who, err)
	}
	return out
}

// refused calls an operation as somebody, and expects a refusal.
func refused[In, Out any](t *testing.T, w *proof.World, who proof.Caller, o op.Of[In, Out], in In, code loci.Code) *loci.Error {
	t.Helper()
	_, err := op.Do(t.Context(), w.Host, w.Call(who), o, in)
	if !loci.Is(err, code) {
		t.Fatalf("%s by %s: %v, want %s", o.Name, who, err, code)
	}
	return loci.AsError(err)
}

// behind is each for who looks at the database behind the store's back.
func behind(t *testing.T, f func(t *testing.T, w *proof.World, d storetest.Database)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		f(t, proof.New(t, d.Open, proof.Options{}), d)
	})
}

// matching calls an operation that insists on a tag.
func matching[In, Out any](t *testing.T, w *proof.World, who proof.Caller, tag string, o op.Of[In, Out], in In) (Out, error) {
	c := w.Call(who)
	c.IfMatch = tag
	return op.Do(t.Context(), w.Host, c, o, in)
}

// stored makes a memory of somebody's in an atlas.
func stored(t *testing.T, w *proof.World, who proof.Caller, atlas, content string) string {
	t.Helper()
	return do(t, w, who, service.MemoryCreate, loci.CreateMemory{Content: loci.Content(content), AtlasID: atlas}).Memory.ID
}

// get reads a memory as its owner does.
func get(t *testing.T, w *proof.World, id string) loci.Memory {
	t.Helper()
	return do(t, w, proof.Owner, service.MemoryGet, loci.GetMemory{MemoryID: id}).Memory
}
