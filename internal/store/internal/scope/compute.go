package scope

import "slices"

// Bounds of the work that stays in a transaction. The analysis of maxBytesInTx takes some 100 µs, that of the longest
// text 10 ms. A transaction that is rolled back and run again delays others by half of the 100 µs.
const (
	maxBytesInTx    = 4 << 10
	maxComputations = 8 // of one call: later ones run in the transaction, so that a call among many writers ends
)

// Compute returns f(), which analyzes so many bytes of text and depends on nothing but key and the input of the call.
// In a Write, f runs outside of the transaction for a long text, because other writers wait for its end. Then Compute
// returns an error, so that Write rolls back, runs f, and runs the transaction again, which compares the key.
func Compute[T any](h Holder, bytes int, f func() T, key ...string) (T, error) {
	t := Of(h)
	for _, c := range t.computations {
		if v, ok := c.value.(T); ok && slices.Equal(c.key, key) {
			return v, nil
		}
	}
	if bytes > maxBytesInTx && t.computesOutside && len(t.computations) < maxComputations {
		var none T
		return none, &Computation{key: key, Run: func() any { return f() }}
	}
	return f(), nil
}

// A Computation is an error that ends a transaction, and then holds the value for its next run. The type of the value
// is part of the key.
type Computation struct {
	key   []string
	Run   func() any
	value any
}

func (c *Computation) Error() string {
	return "store: a transaction waits for the result of a computation"
}
