package contextio

import "context"

// Await returns the result of a call that cannot be interrupted, or the error of the context once that ends. The call
// may run on then.
func Await[T any](ctx context.Context, call func() (T, error)) (out T, err error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
		return out, ctx.Err()
	}
}
