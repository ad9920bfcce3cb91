package testenv

import (
	"fmt"
	"reflect"
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
		t.Errorf("%s", difference(got, want, words))
	}
}

// EqualSlices reports an error if two lists differ. No list equals an empty one.
func EqualSlices[S ~[]T, T comparable](t Reporter, got, want S, words ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s", difference(got, want, words))
	}
}

// Len reports an error if a list or a map has another length, and shows it.
func Len(t Reporter, got any, want int, words ...any) {
	t.Helper()
	if n := reflect.ValueOf(got).Len(); n != want {
		t.Errorf("%s: %+v", difference(n, want, words), got)
	}
}

// difference describes a value that is not the expected one.
func difference(got, want any, words []any) string {
	name := ""
	if len(words) > 0 {
		name = fmt.Sprintf("%.200s: ", strings.TrimSuffix(fmt.Sprintln(words...), "\n"))
	}
	if text, isText := got.(string); isText {
		return fmt.Sprintf("%sgot %q, want %q", name, text, want)
	}
	return fmt.Sprintf("%sgot %+v, want %+v", name, got, want)
}

// RequireEqual ends a test if a value is not the expected one.
func RequireEqual[T comparable](t interface {
	Helper()
	Fatalf(format string, args ...any)
}, got, want T, words ...any) {
	t.Helper()
	if got != want {
		t.Fatalf("%s", difference(got, want, words))
	}
}

// Contains reports an error if a text lacks a part.
func Contains(t Reporter, text, part string, words ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%v: %q lacks %q", words, text, part)
	}
}
