package sqlite

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// TestReadersWaitForOneInUseWhenNoneCanConnect takes the file away from connections
// that are yet to be made, as a process without file descriptors does.
func TestReadersWaitForOneInUseWhenNoneCanConnect(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{BusyTimeout: time.Hour})
	d := s.db.(*database)
	d.dsn = "file:" + filepath.Join(t.TempDir(), "away", "loci.db") + "?mode=rw"
	all := d.readers.Total()
	for range all {
		d.readers.Request(0, "", 1)
	}
	for i, c := range d.readers.idle[1:] {
		if c == nil {
			t.Fatalf("reader %d was not connected at the start", i+1)
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
		d.readers.idle[i+1] = nil
	}
	last := d.readers.idle[0] // the next to be taken is the last of the list
	d.readers.idle[0], d.readers.idle[all-1] = nil, last
	for range all {
		d.readers.Release("", 1)
	}
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			if err := s.db.Read(ctx, "", func(c sqldb.Conn) error {
				time.Sleep(10 * time.Millisecond)
				return one(c)
			}); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	d.busyTimeout = 50 * time.Millisecond
	_ = s.db.Read(ctx, "", func(sqldb.Conn) error { // while nobody gives it back, callers are told
		if err := s.db.Read(ctx, "", one); !loci.Is(err, loci.CodeUnavailable) {
			t.Errorf("told %v", err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := s.db.Read(gone, "", one); err == nil {
			t.Error("a caller that has left got a reader")
		}
		return nil
	})
}

func one(c sqldb.Conn) error {
	var n int
	return c.QueryRow(`SELECT 1`, nil, []any{&n})
}
