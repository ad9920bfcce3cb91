package conformance

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// Each runs f in a world on every engine.
func Each(t *testing.T, o Options, f func(t *testing.T, w *World)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) { f(t, New(t, d.Open, o)) })
}

// EachWithDB is Each for tests that query the database directly.
func EachWithDB(t *testing.T, f func(t *testing.T, w *World, d storetest.Database)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) { f(t, New(t, d.Open, Options{}), d) })
}

// MustCall calls an operation as a caller, and fails on an error.
func MustCall[In, Out any](t *testing.T, w *World, c Caller, o op.TypedOp[In, Out], in In) Out {
	t.Helper()
	out, err := op.Do(t.Context(), w.Host, w.Call(c), o, in)
	if err != nil {
		t.Fatalf("%s by %s: %v", o.Name, c, err)
	}
	return out
}

// Try calls an operation and returns its error.
func Try[In, Out any](t *testing.T, w *World, c Caller, o op.TypedOp[In, Out], in In) error {
	_, err := op.Do(t.Context(), w.Host, w.Call(c), o, in)
	return err
}

// MustFail calls an operation as a caller, and expects an error code.
func MustFail[In, Out any](t *testing.T, w *World, c Caller, o op.TypedOp[In, Out], in In,
	code loci.Code) *loci.Error {
	t.Helper()
	err := Try(t, w, c, o, in)
	Expect(t, fmt.Sprint(o.Name, " by ", c, code), err, code)
	return loci.AsError(err)
}

// Get reads a memory as its owner.
func (w *World) Get(t *testing.T, id loci.ID) loci.Memory {
	t.Helper()
	return MustCall(t, w, CallerOwner, service.MemoryGet, loci.GetMemory{MemoryID: id}).Memory
}

// CallWithKey calls an operation with an Idempotency-Key, and reports whether the answer is a stored one.
func CallWithKey[In, Out any](t *testing.T, w *World, c Caller, key string, o op.TypedOp[In, Out],
	in In) (out Out, replayed bool, err error) {
	call := w.Call(c)
	call.IdempotencyKey = key
	out, err = op.Do(t.Context(), w.Host, call, o, in)
	return out, call.Replayed, err
}

// Expect fails unless an error has a code; "" is none.
func Expect(t *testing.T, what string, err error, want loci.Code) {
	t.Helper()
	if want == "" && err != nil || want != "" && !loci.Is(err, want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// SucceedAtOnce makes n calls at once. It fails unless as many as wanted succeed, and the others have an error code.
func SucceedAtOnce(t *testing.T, n, want int, code loci.Code, call func(i int) error) {
	t.Helper()
	succeeded := 0
	for _, err := range storetest.RunConcurrently(n, call) {
		if err == nil {
			succeeded++
		} else if !loci.Is(err, code) {
			t.Error(err)
		}
	}
	testenv.Equal(t, succeeded, want, "calls that succeed of", n)
}

// Erase erases what was deleted.
func (w *World) Erase(t *testing.T) {
	t.Helper()
	testenv.NoError(t, w.Store.Eraser().EraseAll(t.Context()))
}

// CallIfMatch calls an operation with an If-Match tag.
func CallIfMatch[In, Out any](t *testing.T, w *World, c Caller, tag string, o op.TypedOp[In, Out], in In) (Out, error) {
	call := w.Call(c)
	call.IfMatch = tag
	return op.Do(t.Context(), w.Host, call, o, in)
}

// Pick returns a random item of a list, or the zero value of an empty one.
func Pick[T any](r *rand.Rand, list []T) (none T) {
	if len(list) == 0 {
		return none
	}
	return list[r.IntN(len(list))]
}
