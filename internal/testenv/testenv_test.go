package testenv

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRequiresNamedEngines(t *testing.T) {
	for list, want := range map[string]bool{"": false, "pg15": false, "pg1": false, "mattn,pg18": true, "all": true} {
		t.Setenv("LOCI_TEST_REQUIRE", list)
		if got := Requires("pg18"); got != want {
			t.Errorf("%q requires pg18: %t, want %t", list, got, want)
		}
	}
}

// A recorder is a test that notes its failures.
type recorder struct{ failures []string }

func (*recorder) Helper()                     {}
func (r *recorder) Fatal(args ...any)         { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.failures = append(r.failures, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...) }

func TestHelpersReportWhatDiffers(t *testing.T) {
	t.Parallel()
	for i, holds := range []bool{true, false} {
		var r recorder
		Equal(&r, i, 0, "number", "one")
		EqualSlices(&r, []int{i}, []int{0})
		Len(&r, []int{7}[:i], 0)
		RequireEqual(&r, []string{"a", "b"}[i], "a", "letter")
		Contains(&r, []string{"abc", "b"}[i], "a", "text")
		NoError(&r, []error{nil, errors.New("no")}[i])
		got, want := strings.Join(r.failures, "\n"), "number one: got 1, want 0\ngot [1], want [0]\n"+
			"got 1, want 0: [7]\nletter: got \"b\", want \"a\"\n[text]: \"b\" lacks \"a\"\nno"
		if holds != (got == "") || !holds && got != want {
			t.Errorf("%s", got)
		}
	}
}
