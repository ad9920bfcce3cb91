package testenv

import (
	"fmt"
	"slices"
	"strings"
)

// A Reporter is a test that goes on after an error.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Equal reports an error if a value is not the expected one. The words before it in the report name the value.
func Equal[T comparable](t Reporter, got, want T, words ...any) {
	t.Helper()
	if got != want {
		unequal(t, got, want, words)
	}
}

// EqualSlices reports an error if two lists differ. No list equals an empty one.
func EqualSlices[S ~[]T, T comparable](t Reporter, got, want S, words ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		unequal(t, got, want, words)
	}
}

func unequal(t Reporter, got, want any, words []any) {
	t.Helper()
	name := strings.TrimSuffix(fmt.Sprintln(words...), "\n")
	if text, isText := got.(string); isText {
		t.Errorf("%.200s: got %q, want %q", name, text, want)
	} else {
		t.Errorf("%.200s: got %+v, want %+v", name, got, want)
	}
}
