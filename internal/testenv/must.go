package testenv

// A TB is a test: a *testing.T, or a case of a property.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Must returns the value of a call, and fails the test if the call failed: Must(f())(t).
func Must[T any](v T, err error) func(t TB) T {
	return func(t TB) T {
		t.Helper()
		NoError(t, err)
		return v
	}
}

// ErrorOf returns the error of a call: ErrorOf(f()).
func ErrorOf[T any](_ T, err error) error { return err }

// NoError fails the test at once if a call failed.
func NoError(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
