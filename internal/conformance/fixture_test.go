package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/mail"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
)

// args are the arguments of one call: a flat JSON object.
type args = map[string]any

// A testScene is a world in which an operation is called.
type testScene struct {
	*conformance.World
	t testing.TB
}

// A fixture states what an operation needs, and has valid arguments of its calls. They name records of ann in every id
// field. Each call gets new arguments, so that it can change the named records.
type fixture struct {
	needs accessRule
	args  func(s testScene) args
	// accepts names the tables of containers that may be archived.
	accepts []string
	// names are the fields that name one record.
	names []string
	// empty is set where the operation runs in a world without people.
	empty bool
	// alone is set where the operation ends the caller's account, and needs a world of its own.
	alone bool
	// server is set where a database on the own device refuses the operation with state_conflict.
	server bool
	// mail is set where a server without mail refuses the operation.
	mail     bool
	refusals []refusal
}

// Containers in which an operation is not refused when they are archived.
var (
	// archivedAtlases do not concern the operations on a workspace alone.
	archivedAtlases = []string{"atlases"}
	// archivedContainers accept a review of a memory, a deletion and a departure.
	archivedContainers = []string{"atlases", "workspaces"}
)

// A refusal is a documented error beyond those that follow from the table.
type refusal struct {
	name    string
	code    loci.Code
	args    func(s testScene) args
	ifMatch string // sent beside the arguments
	// exhausted is set where the plan must be used up.
	exhausted bool
}

// withMail are the options of a world in which every operation can be called. Its mails go nowhere.
var withMail = conformance.Options{SendMail: func(context.Context, mail.Message) error { return nil }}

// fixed returns the same arguments for every scene.
func fixed(in args) func(testScene) args { return func(testScene) args { return mergeArgs(in, nil) } }

func noArgs(testScene) args { return args{} }

var counter atomic.Int64

// uniqueText returns a new text of constant length.
func uniqueText(prefix string) string { return fmt.Sprintf("%s%06d", prefix, counter.Add(1)) }

// foreignCursor is a well-formed cursor of another query.
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

// world returns the world in which the operation is called in place of w.
func (f fixture) world(t testing.TB, w *conformance.World,
	open func(t testing.TB, o store.Options) *store.Store) *conformance.World {
	switch {
	case f.empty:
		return conformance.NewEmpty(t, open, withMail)
	case f.alone:
		return conformance.New(t, open, withMail)
	}
	return w
}

// fixtures has one for each operation of the table. Each resource has a file of them.
var fixtures = func() map[string]fixture {
	all := map[string]fixture{}
	for _, resource := range []map[string]fixture{memoryFixtures, atlasFixtures, workspaceFixtures, invitationFixtures,
		accountFixtures, keyFixtures, agentFixtures, signInFixtures, grantFixtures, referralFixtures,
		sessionFixtures, attachmentFixtures} {
		maps.Copy(all, resource)
	}
	return all
}()

// fixtureOf returns the fixture of an operation; a missing one fails the test.
func fixtureOf(t testing.TB, name string) fixture {
	t.Helper()
	f, ok := fixtures[name]
	if !ok {
		t.Fatalf("%s has no fixture: add one to the file of its resource, so that every transport is tested", name)
	}
	return f
}

func TestEveryOperationHasFixture(t *testing.T) {
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
