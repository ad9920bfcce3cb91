package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A copy that begins anew with every commit of others would never end.
func TestCopyEndsWhileOthersWrite(t *testing.T) {
	t.Parallel()
	d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
	s := d.Open(t, store.Options{})
	ann := user(t, s, "ann")
	for i := range 100 {
		add(t, s, ann, "", fmt.Sprint("before the copy ", i))
	}
	stop, all := make(chan bool), sync.WaitGroup{}
	for w := range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := tryAdd(s, ann, "", fmt.Sprint("beside the copy ", w, " ", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	copies := []storetest.Database{}
	for range 3 {
		to := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
		if err := sqlite.Copy(t.Context(), d.Dir, to.Dir, func(int64, int64) {}); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, to)
	}
	close(stop)
	all.Wait()
	last := int64(100)
	for _, c := range copies {
		have, err := sqlite.ReadContents(ctx, c.Dir)
		if err != nil || have.Schema != store.SchemaVersion() || have.Counts["memories"] < last {
			t.Errorf("%+v, %v: %d memories were there before", have, err, last)
		}
		last = have.Counts["memories"]
		if _, err := os.Stat(filepath.Join(c.Dir, sqlite.FileName+"-wal")); err == nil {
			t.Error("the copy has a log beside it")
		}
		if sum := checkHealthy(t, c.Open(t, store.Options{})); sum.Memories != last {
			t.Errorf("%d memories, %d were counted", sum.Memories, last)
		}
	}
}

// The operator looks where the error says: not at the database, which has room.
func TestCopyErrorNamesUnwritableFile(t *testing.T) {
	t.Parallel()
	d := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
	d.Open(t, store.Options{})
	to := filepath.Join(t.TempDir(), "gone")
	err := sqlite.Copy(t.Context(), d.Dir, to, func(int64, int64) {})
	if err == nil || !strings.Contains(err.Error(), to) || strings.Contains(err.Error(), d.Dir) {
		t.Errorf("told %v", err)
	}
}
