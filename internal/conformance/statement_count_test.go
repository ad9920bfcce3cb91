package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

const (
	statementsFile = "testdata/statements.golden"
	statementsHead = "# Statements that each operation sends, warm. SQLite counts BEGIN, COMMIT, SAVEPOINT and " +
		"RELEASE; " +
		"PostgreSQL does not.\n"
)

// It counts for the whole process, so that it runs while no other test does.
func TestStatementsAreThoseOfTheGoldenFile(t *testing.T) {
	counts := map[string]map[string]int64{"sqlite": countStatements(t, conformance.OpenSQLite)}
	if address := os.Getenv("LOCI_TEST_PG18"); address != "" {
		counts["postgres"] = countStatements(t, func(t testing.TB, o store.Options) *store.Store {
			s := conformance.Must(store.OpenPostgres(context.Background(), storetest.NewSchema(t, address), o))(t)
			t.Cleanup(func() { s.Close() })
			return s
		})
	} else {
		counts["postgres"] = readStatements(t)
	}
	var b bytes.Buffer
	b.WriteString(statementsHead)
	fmt.Fprintf(&b, "%-20s %8s %8s\n", "operation", "sqlite", "postgres")
	for _, o := range service.Ops.Ops {
		fmt.Fprintf(&b, "%-20s %8d %8d\n", o.Name, counts["sqlite"][o.Name], counts["postgres"][o.Name])
	}
	golden(t, statementsFile, b.Bytes())
}

// countStatements calls every operation a few times as ann and returns the fewest
// statements of each: what runs in the background can only add to them.
func countStatements(t *testing.T, open func(testing.TB, store.Options) *store.Store) map[string]int64 {
	w := conformance.New(t, open, conformance.Options{})
	fewest := map[string]int64{}
	for _, o := range service.Ops.Ops {
		for range 4 {
			at, f := w, fixtureOf(t, o.Name)
			if f.empty {
				at = conformance.NewEmpty(t, open, conformance.Options{})
			}
			in := conformance.Must(json.Marshal(f.args(testScene{at, t})))(t)
			before := store.Statements()
			if _, err := at.Host.Call(t.Context(), o, at.Call(conformance.CallerOwner), op.Args{JSON: in}); err != nil {
				t.Fatalf("%s: %v", o.Name, err)
			}
			if n := store.Statements() - before; fewest[o.Name] == 0 || n < fewest[o.Name] {
				fewest[o.Name] = n
			}
		}
	}
	return fewest
}

// readStatements reads the counts of PostgreSQL from the file, where there is no server.
func readStatements(t *testing.T) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	for line := range strings.Lines(string(conformance.Must(os.ReadFile(statementsFile))(t))) {
		var name string
		var sqlite, postgres int64
		if n, _ := fmt.Sscan(line, &name, &sqlite, &postgres); n == 3 {
			counts[name] = postgres
		}
	}
	return counts
}
