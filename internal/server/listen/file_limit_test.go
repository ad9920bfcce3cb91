package listen

import (
	"math"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb"
)

func TestConnectionLimitReservesFileDescriptors(t *testing.T) {
	t.Parallel()
	for files, want := range map[uint64]int{0: 8, 64: 18, 256: 162, 1024: 672, 65536: 43008,
		math.MaxUint64: maxConnections} {
		if got := (FileBudget{files, 29}).Connections(); got != want {
			t.Errorf("%d file descriptors: %d connections, want %d", files, got, want)
		}
	}
	if got := (FileBudget{1024, 277}).Connections(); got != 561 {
		t.Errorf("a database with many readers leaves %d connections", got)
	}
}

func TestFileBudgetRejectsOrWarnsOfLowLimit(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"", "postgres://loci@127.0.0.1/loci?pool_max_conns=30"} {
		need, err := sqldb.FileDescriptors(db)
		if err != nil || need < 12 {
			t.Fatalf("%q needs %d: %v", db, need, err)
		}
		if db != "" && need != 30 {
			t.Errorf("%q needs %d", db, need)
		}
		least := uint64(need) + baseFiles + minConnections
		for limit, want := range map[uint64]string{
			least - 1: "ulimit -n ", 8: "LimitNOFILE=", least: "",
		} {
			b, err := newFileBudget(limit, need)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q with %d: %v", db, limit, err)
			}
			if err == nil && !strings.Contains(b.Warning(), "at most 8 connections") {
				t.Errorf("%q with %d warns: %q", db, limit, b.Warning())
			}
		}
		b, err := newFileBudget(65536, need)
		if err != nil || b.Warning() != "" {
			t.Errorf("%q: %v, %q", db, err, b.Warning())
		}
	}
}

// Connections and the files of transfers fit into the file descriptors that are left.
func TestTransfersFitBesideConnections(t *testing.T) {
	t.Parallel()
	for _, limit := range []uint64{64, 128, 256, 1024, 4096, 65536, math.MaxUint64} {
		b := FileBudget{limit, 29}
		files := min(limit, 2*maxConnections)
		if n := b.Connections() + filesOfTransfer*b.Transfers(); uint64(n) > files-min(files, minReservedFiles)+
			minConnections || b.Transfers() < 2 {
			t.Errorf("limit %d: %d connections and %d transfers", limit, b.Connections(), b.Transfers())
		}
	}
}
