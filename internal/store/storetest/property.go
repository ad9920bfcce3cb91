package storetest

import (
	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/testenv"
)

// postgresShare is the number of cases of a property of which PostgreSQL runs one. A case there costs six times that of
// SQLite.
const postgresShare = 5

// Check checks a property of a store, as rapid.Check does. On PostgreSQL a run that is not whole has a share of the
// cases, and all of them once one has failed, among which rapid finds the smallest.
func (d Database) Check(t rapid.TB, property func(*rapid.T)) {
	t.Helper()
	drawn, failed := 0, false
	rapid.Check(t, func(r *rapid.T) {
		drawn++
		if d.Address != "" && !testenv.Whole() && !failed && drawn%postgresShare != 1 {
			return
		}
		passed := false
		defer func() { failed = failed || !passed }()
		property(r)
		passed = true
	})
}
