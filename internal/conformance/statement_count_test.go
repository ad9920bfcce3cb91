package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

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
			fmt.Fprintf(&b, "# Statements that each operation sends, warm: %s.\n", engine.head)
			counts := countStatements(t, engine.open)
			for _, o := range service.Ops.Ops {
				fmt.Fprintf(&b, "%-20s %3d\n", o.Name, counts[o.Name])
			}
			golden(t, "testdata/statements_"+engine.name+".golden", b.Bytes())
		})
	}
}

// countStatements calls every operation a few times as ann and returns the fewest statements of each, because
// background work can only add to them.
func countStatements(t *testing.T, open func(testing.TB, store.Options) *store.Store) map[string]int64 {
	w := conformance.New(t, open, withMail)
	fewest := map[string]int64{}
	for _, o := range service.Ops.Ops {
		for range 8 {
			f := fixtureOf(t, o.Name)
			at := f.world(t, w, open)
			in := testenv.Must(json.Marshal(f.args(testScene{at, t})))(t)
			call := at.Call(ownerOf(o))
			_, _ = at.Host.Call(t.Context(), service.AccountStatus.Op, call, op.Args{}) // warms a credential
			before := sqldb.Statements()
			if _, err := at.Host.Call(t.Context(), o, call, op.Args{JSON: in}); err != nil {
				t.Fatalf("%s: %v", o.Name, err)
			}
			n := sqldb.Statements() - before
			if least, has := fewest[o.Name]; !has || n < least {
				fewest[o.Name] = n
			}
		}
	}
	return fewest
}
