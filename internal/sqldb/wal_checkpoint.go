package sqldb

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// How large the write-ahead log may get before readers are held for it, and how
// long they are at most.
const (
	maxWALSize     = 64 << 20
	maxReaderPause = 50 * time.Millisecond
)

// checkpointIfLarge empties the write-ahead log where it has grown large: SQLite begins it
// anew at a moment in which nobody reads, and while many do, none comes by
// itself (https://sqlite.org/wal.html, "Avoiding Excessively Large WAL Files").
// So the readers of this process wait for a moment. It belongs to the writer.
func (d *sqliteDB) checkpointIfLarge() {
	i, err := os.Stat(d.path + "-wal")
	if err != nil || i.Size() < d.checkpointAt {
		return
	}
	d.checkpointAt = i.Size() + d.maxWALSize/4 // the next try, where this one fails
	held := d.pauseReaders()
	if len(held) == d.readers.len() && d.truncateWAL() {
		d.checkpointAt = d.maxWALSize
	}
	for _, c := range slices.Backward(held) {
		d.readers.put(c, "")
	}
}

// pauseReaders takes the readers that come back in time.
func (d *sqliteDB) pauseReaders() (held []*sqliteConn) {
	wait := time.NewTimer(maxReaderPause)
	defer wait.Stop()
	for range d.readers.len() {
		if t := d.readers.acquire(""); t != nil {
			select {
			case <-t.granted:
			case <-wait.C:
				d.readers.cancel("", t)
				return held
			}
		}
		held = append(held, d.readers.get())
	}
	return held
}

// truncateWAL reports whether it could: another process may read.
func (d *sqliteDB) truncateWAL() bool {
	c := d.writer.conn
	c.Exec(fmt.Sprintf(`PRAGMA busy_timeout = %d`, maxReaderPause.Milliseconds()), nil)
	defer c.Exec(fmt.Sprintf(`PRAGMA busy_timeout = %d`, d.busyTimeout.Milliseconds()), nil)
	var stuck, frames, done int
	err := c.QueryRow(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, []any{&stuck, &frames, &done})
	return err == nil && stuck == 0
}
