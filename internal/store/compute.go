package store

import "slices"

// Bounds of the work that stays in a transaction. The analysis of maxWeightInTx bytes takes some 100 µs. A transaction
// that is rolled back and run again delays others by half of that.
const (
	maxWeightInTx   = 4 << 10
	maxComputations = 8 // of one call: later ones run in the transaction, so that a call among many writers ends
)

// Compute returns f(), which depends on nothing but key and the input of the call. The weight of the work is that of
// the analysis of so many bytes of text. In a Write, heavy work runs outside of the transaction, because other writers
// wait for its end. Then Compute returns an error, so that Write rolls back, runs f, and runs the transaction again.
func Compute[T any](t *Tx, weight int, f func() T, key ...string) (T, error) {
	for _, c := range t.computations {
		if v, ok := c.value.(T); ok && slices.Equal(c.key, key) {
			return v, nil
		}
	}
	if weight > maxWeightInTx && t.computesOutside && len(t.computations) < maxComputations {
		var none T
		return none, &computation{key: key, run: func() any { return f() }}
	}
	return f(), nil
}

// A computation is an error that ends a transaction, and then holds the value for its next run. The type of the value
// is part of the key.
type computation struct {
	key   []string
	run   func() any
	value any
}

func (c *computation) Error() string {
	return "store: a transaction waits for the result of a computation"
}
