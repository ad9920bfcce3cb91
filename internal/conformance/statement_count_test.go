package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// The counter is one for the process, so no other test may run. Without a PostgreSQL server, storetest skips that
// engine.
func TestStatementsMatchGoldenFile(t *testing.T) {
	for _, engine := range []struct {
		name, head string
		open       func(testing.TB, store.Options) *store.Store
	}{
		{"sqlite", "BEGIN, COMMIT, SAVEPOINT and RELEASE are counted", conformance.OpenSQLite},
		{"postgres", "BEGIN and COMMIT are not counted", func(t testing.TB, o store.Options) *store.Store {
			return storetest.NewPostgresDatabase(t).Open(t, o)
		}},
	} {
		t.Run(engine.name, func(t *testing.T) {
			var b bytes.Buffer
			fmt.Fprintf(&b, "# Statements of each operation, warm, and the records whose changes it tells: %s.\n",
				engine.head)
			counts := countStatements(t, engine.open)
			for _, o := range service.Ops.Ops {
				c := counts[o.Name]
				line := fmt.Sprintf("%-20s %3d  %s", o.Name, c.statements, c.changed)
				b.WriteString(strings.TrimRight(line, " ") + "\n")
			}
			golden(t, "testdata/statements_"+engine.name+".golden", b.Bytes())
		})
	}
}

// A cost is what a call of an operation sends to the database, and which records it says that it has changed.
type cost struct {
	statements int64
	changed    string
}

// countStatements calls every operation a few times as ann and returns the least cost of each, because background work
// can only add to it.
func countStatements(t *testing.T, open func(testing.TB, store.Options) *store.Store) map[string]cost {
	w := conformance.New(t, open, withMail)
	least := map[string]cost{}
	for _, o := range service.Ops.Ops {
		for range 8 {
			f := fixtureOf(t, o.Name)
			at := f.world(t, w, open)
			in := testenv.Must(json.Marshal(f.args(testScene{at, t})))(t)
			call := at.Call(ownerOf(o))
			_, _ = at.Host.Call(t.Context(), service.AccountStatus.Op, call, op.Args{}) // warms a credential
			last := lastChange(t, at.Store)
			before := sqldb.Statements()
			if _, err := at.Host.Call(t.Context(), o, call, op.Args{JSON: in}); err != nil {
				t.Fatalf("%s: %v", o.Name, err)
			}
			c := cost{statements: sqldb.Statements() - before, changed: changesAfter(t, at, last)}
			if was, has := least[o.Name]; !has || c.statements < was.statements {
				least[o.Name] = c
			}
		}
	}
	return least
}

func lastChange(t *testing.T, s *store.Store) int64 {
	return slices.Max(append(testenv.Must(s.Changes().Last(t.Context(), 1))(t), 0))
}

// changesAfter returns the kinds of the records of ann that have changed after a change.
func changesAfter(t *testing.T, w *conformance.World, last int64) string {
	if w.Ann == nil { // of a server without users
		return ""
	}
	numbers := testenv.Must(w.Store.Changes().After(t.Context(), last, nil))(t)
	list := testenv.Must(store.Read(t.Context(), w.Store, w.Ann.Actor(),
		func(tx *store.Tx) ([]loci.ChangeEvent, error) { return tx.ChangeEvents(numbers) }))(t)
	var kinds []string
	for _, e := range list {
		kinds = append(kinds, string(e.What))
	}
	slices.Sort(kinds)
	return strings.Join(kinds, " ")
}
