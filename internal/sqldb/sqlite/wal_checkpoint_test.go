package sqlite

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/sqldb"
)

func TestWALStaysSmallUnderConstantReads(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	s := openFile(t, sqldb.Options{MaxWALSize: limit})
	d := s.db.(*database)
	stop := make(chan bool)
	var readers, writers sync.WaitGroup
	for range 2 * d.readers.Total() {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := d.Read(ctx, "", func(c sqldb.Conn) error {
					var n int
					err := c.QueryRow(`SELECT count(*) FROM metadata`, nil, []any{&n})
					time.Sleep(time.Millisecond)
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	const each = 600
	for range 4 {
		writers.Go(func() {
			for range each {
				if err := d.Write(ctx, "", insertNote(strings.Repeat("x", 4000))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	i, err := os.Stat(d.path + "-wal")
	if err != nil || i.Size() > 4*limit { // of some 20 MiB that were written to it
		t.Errorf("the log has %d KiB: %v", i.Size()>>10, err)
	}
	if n := countNotes(t, s); n != 4*each {
		t.Errorf("%d notes", n)
	}
	if err := d.Write(ctx, "", func(c sqldb.Conn) error {
		if got := pragma(t, c, "busy_timeout"); got != "10000" {
			t.Errorf("the writer waits %s ms for others", got)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestFailedCheckpointIsLogged(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	d := openFile(t, sqldb.Options{Log: slog.New(slog.NewTextHandler(&lines, nil))}).db.(*database)
	err := d.Write(ctx, "", func(c sqldb.Conn) error {
		if err := insertNote("text")(c); err != nil {
			return err
		}
		lines.Reset()
		if d.truncateWAL() { // SQLite refuses a checkpoint within a transaction
			t.Error("the log was truncated within a transaction")
		}
		if !strings.Contains(lines.String(), "write-ahead log") {
			t.Errorf("logged %q", lines.String())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
