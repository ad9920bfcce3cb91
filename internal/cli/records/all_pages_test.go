package records

import (
	"context"
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// A callerFunc is a server with one operation.
type callerFunc func(a op.Args) string

func (f callerFunc) Call(_ context.Context, _ *op.Op, _ *op.Call, a op.Args) ([]byte, error) {
	return []byte(f(a)), nil
}

func TestAllPagesJoinsItems(t *testing.T) {
	t.Parallel()
	var asked []string
	pages := []string{`{"ok":true,"keys":[{"a":"<"},2],"nextCursor":"c"}`, `{"ok":true,"keys":[],"nextCursor":"d"}`,
		`{"ok":true,"keys":[3]}`}
	r := Reader{Caller: callerFunc(func(a op.Args) string {
		asked = append(asked, string(a.JSON))
		return pages[len(asked)-1]
	})}
	var reported []int
	got, err := r.AllPages(t.Context(), &op.Op{}, &op.Call{}, []byte(`{"q":1}`), func(n int) {
		reported = append(reported, n)
	})
	if want := `{"ok":true,"keys":[{"a":"<"},2,3]}`; err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
	if want := `[{"limit":100,"q":1} {"cursor":"c","limit":100,"q":1} {"cursor":"d","limit":100,"q":1}]`; fmt.Sprint(
		asked) != want || fmt.Sprint(reported) != "[2 2]" {
		t.Errorf("%s, reported %v", asked, reported)
	}
}

func TestAllPagesEndsListWithoutEnd(t *testing.T) {
	t.Parallel()
	read := 0
	r := Reader{Caller: callerFunc(func(op.Args) string {
		read++
		return `{"ok":true,"keys":[1],"nextCursor":"c"}`
	})}
	_, err := r.AllPages(t.Context(), &op.Op{}, &op.Call{}, []byte("{}"), func(int) {})
	if !loci.Is(err, loci.CodeUnavailable) || read != 2 {
		t.Errorf("%v after %d pages", err, read)
	}
}
