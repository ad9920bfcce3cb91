package conformance_test

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
)

// args are the arguments of one call: a flat JSON object.
type args = map[string]any

// A testScene is a world in which an operation is called.
type testScene struct {
	*conformance.World
	t testing.TB
}

// A fixture is how an operation is tried: with valid arguments that name
// records of ann's wherever there is a field for one. They are made anew for
// each call, so that a call can change what it names.
type fixture struct {
	args func(s testScene) args
	// names are the fields that name one record.
	names []string
	// empty is set where the operation is done in a world without people.
	empty    bool
	refusals []refusal
}

// A refusal is a documented error beside those that follow from the table.
type refusal struct {
	name    string
	code    loci.Code
	args    func(s testScene) args
	ifMatch string // travels beside the arguments
	// exhausted is set where the plan has to be one without room.
	exhausted bool
}

func noArgs(testScene) args { return args{} }

var counter atomic.Int64

// uniqueText returns a text that was not there before, always as long.
func uniqueText(prefix string) string { return fmt.Sprintf("%s%06d", prefix, counter.Add(1)) }

// foreignCursor is a cursor of another question, of the right form.
var foreignCursor = strings.Repeat("A", 80)

func badCursor(in args) refusal {
	return refusal{name: "foreign cursor", code: loci.CodeInvalidQuery, args: func(s testScene) args {
		return mergeArgs(in, args{"cursor": foreignCursor})
	}}
}

func mergeArgs(a, b args) args {
	out := args{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// fixtures has one for each operation of the table. Each resource has a file of them.
var fixtures = func() map[string]fixture {
	all := map[string]fixture{}
	for _, resource := range []map[string]fixture{memoryFixtures, atlasFixtures, workspaceFixtures, invitationFixtures,
		accountFixtures, keyFixtures, signInFixtures} {
		maps.Copy(all, resource)
	}
	return all
}()

// fixtureOf returns the fixture of an operation, without which there is no test.
func fixtureOf(t testing.TB, name string) fixture {
	t.Helper()
	f, ok := fixtures[name]
	if !ok {
		t.Fatalf("%s has no fixture: add one to the file of its resource, so that every transport is tested", name)
	}
	return f
}

func TestFixturesAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	for name := range fixtures {
		if service.Ops.Op(name) == nil {
			t.Errorf("there is a fixture of %s, and no such operation", name)
		}
	}
	for _, o := range service.Ops.Ops {
		fixtureOf(t, o.Name)
	}
}
