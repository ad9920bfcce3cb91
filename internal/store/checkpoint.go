package store

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// How large the write-ahead log may get before readers are held for it, and how
// long they are at most.
const (
	largestLog  = 64 << 20
	longestHold = 50 * time.Millisecond
)

// tidy empties the write-ahead log where it has grown large: SQLite begins it
// anew at a moment in which nobody reads, and while many do, none comes by
// itself (https://sqlite.org/wal.html, "Avoiding Excessively Large WAL Files").
// So the readers of this process wait for a moment. It belongs to the writer.
func (d *sqliteFile) tidy() {
	i, err := os.Stat(d.path + "-wal")
	if err != nil || i.Size() < d.tidyAt {
		return
	}
	d.tidyAt = i.Size() + d.largestLog/4 // the next try, where this one fails
	held := d.hold()
	if len(held) == d.readers.len() && d.emptyLog() {
		d.tidyAt = d.largestLog
	}
	for _, c := range slices.Backward(held) {
		d.readers.put(c, "")
	}
}

// hold takes the readers that come back in time.
func (d *sqliteFile) hold() (held []*sqliteConn) {
	wait := time.NewTimer(longestHold)
	defer wait.Stop()
	for range d.readers.len() {
		if t := d.readers.acquire(""); t != nil {
			select {
			case <-t.granted:
			case <-wait.C:
				d.readers.abandon("", t)
				return held
			}
		}
		held = append(held, d.readers.get())
	}
	return held
}

// emptyLog reports whether it could: another process may read.
func (d *sqliteFile) emptyLog() bool {
	c := d.writer.conn
	c.exec(fmt.Sprintf(`PRAGMA busy_timeout = %d`, longestHold.Milliseconds()), nil)
	defer c.exec(fmt.Sprintf(`PRAGMA busy_timeout = %d`, d.patience.Milliseconds()), nil)
	var stuck, frames, done int
	err := c.one(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, []any{&stuck, &frames, &done})
	return err == nil && stuck == 0
}
