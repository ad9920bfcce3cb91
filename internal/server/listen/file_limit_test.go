package listen

import (
	"math"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
)

func TestFileBudgetRejectsOrWarnsOfLowLimit(t *testing.T) {
	t.Parallel()
	connections, err := postgres.Connections("postgres://loci@127.0.0.1/loci?pool_max_conns=30")
	if err != nil || connections != 30 {
		t.Errorf("PostgreSQL needs %d: %v", connections, err)
	}
	for db, need := range map[string]int{"sqlite": sqlite.FileDescriptors(), "postgres": connections} {
		if need < 12 {
			t.Fatalf("%q needs %d", db, need)
		}
		least := uint64(need) + baseFiles + minConnections
		for limit, want := range map[uint64]string{
			least - 1: "ulimit -n ", 8: "LimitNOFILE=", least: "",
		} {
			b, err := NewFileBudgetOf(limit, need)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q with %d: %v", db, limit, err)
			}
			if err == nil && !strings.Contains(b.Warning(), "at most 8 connections") {
				t.Errorf("%q with %d warns: %q", db, limit, b.Warning())
			}
		}
		b, err := NewFileBudgetOf(65536, need)
		if err != nil || b.Warning() != "" {
			t.Errorf("%q: %v, %q", db, err, b.Warning())
		}
	}
}

// TestFileBudgetLeavesDescriptors counts what connections and transfers use at most.
func TestFileBudgetLeavesDescriptors(t *testing.T) {
	t.Parallel()
	for limit, want := range map[uint64]int{37: 8, 64: 22, 256: 150, 1024: 662, 65536: 43670,
		math.MaxUint64: maxConnections} {
		b, err := NewFileBudgetOf(limit, 13)
		if err != nil || b.Connections() != want {
			t.Errorf("limit %d: %d connections, want %d: %v", limit, b.Connections(), want, err)
		}
		used := uint64(b.Connections() + 2*b.Transfers())
		if left := limit - b.required - min(limit-b.required, used); limit >= 64 && left < 8 || b.Transfers() < 2 {
			t.Errorf("limit %d: %d transfers leave %d file descriptors", limit, b.Transfers(), left)
		}
	}
}
