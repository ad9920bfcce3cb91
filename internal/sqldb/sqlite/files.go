package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// MarkerName is a file that marks a folder with a database. With it, an unmounted volume or a deleted database
// does not look like a new installation.
const MarkerName = "loci.created"

const markerText = `This folder holds a database of Loci. While this file is here, Loci does not start without loci.db.
To begin with an empty database, delete this file too. The number shows whether a crash lost commits.
`

// checkNotEmptied returns an error if the database is missing or empty in a folder that had one.
func (d *database) checkNotEmptied() error {
	state := "empty"
	info, err := os.Stat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		state = "missing"
	case err != nil:
		return err
	case info.Size() > 0:
		return nil
	}
	for _, sign := range []string{d.marker(), d.path + "-wal"} {
		if info, err := os.Stat(sign); err == nil && info.Size() > 0 {
			return d.lostFileError(state, sign)
		}
	}
	return nil
}

// checkNew returns an error for a used database without a schema number. Its first migration may have been cut off.
func (d *database) checkNew(c *conn, marked int64) error {
	var all, own int64
	err := c.QueryRow(`SELECT count(*), count(*) FILTER (WHERE name = 'goose_db_version') FROM sqlite_schema`, nil,
		[]any{&all, &own})
	switch {
	case err == nil && all == 0 && marked > 0:
		return d.lostFileError("empty", d.marker())
	case err == nil && all > 0 && (own == 0 || marked > 0):
		return loci.Errorf(loci.CodeConflict, "%s has tables, but not the schema number of Loci: it belongs to "+
			"another program, or was changed. Choose another folder, or restore a backup.", d.path)
	}
	return err
}

func (d *database) marker() string { return filepath.Join(filepath.Dir(d.path), MarkerName) }

func (d *database) lostFileError(state, sign string) error {
	return loci.Errorf(loci.CodeConflict, "%s is %s, and %s says that there was a database: mount its volume, or "+
		"restore a backup. To begin with an empty database, delete %s.", d.path, state, filepath.Base(sign), sign)
}

// A trackedFile is a file that must not be removed or replaced while it is open.
type trackedFile struct {
	path string
	info fs.FileInfo
}

// trackFiles saves the identity of the open files: the database, its write-ahead log, and the index of the log, which
// holds the locks. A second process would make another index.
func (d *database) trackFiles() {
	for _, path := range []string{d.path, d.path + "-wal", d.path + "-shm"} {
		if info, err := os.Stat(path); err == nil {
			d.trackedFiles = append(d.trackedFiles, trackedFile{path, info})
		}
	}
}

// Check returns an error while a file of the database is not where it was opened.
func (d *database) Check(context.Context) error { return d.checkFiles() }

// checkFiles returns an error while a file of the database is not where it was opened. Commits to such a file would
// be lost.
func (d *database) checkFiles() error {
	err := d.checkTrackedFiles()
	if lost := err != nil; d.displaced.Swap(lost) != lost && d.log != nil {
		if lost {
			d.log.Error("the database is gone: writes are refused", "err", err.Err)
		} else {
			d.log.Info("the database is where it was")
		}
	}
	if err == nil {
		return nil
	}
	return err
}

func (d *database) checkTrackedFiles() *loci.Error {
	for _, f := range d.trackedFiles {
		info, err := os.Stat(f.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%s was removed while it is open", f.path)
		case err == nil && os.SameFile(info, f.info):
			if f.path != d.path+"-wal" || !d.walIsCut(info.Size()) {
				continue
			}
			err = fmt.Errorf("%s was cut while it is open", f.path)
		case err == nil:
			err = fmt.Errorf("%s was replaced while it is open", f.path)
		}
		return &loci.Error{Code: loci.CodeUnavailable, RetryAfter: time.Minute, Err: err,
			Message: "The database was removed or replaced under this server, which writes nothing any more: its " +
				"operator has to put it back and to restart the server."}
	}
	return nil
}

// walIsCut reports a write-ahead log that was cut behind SQLite's back. Checkpoints of this and other processes empty
// the log too, so SQLite's count of its frames decides about one that shrank.
func (d *database) walIsCut(size int64) bool {
	if size >= d.walSize.Load() {
		d.walSize.Store(size)
		return false
	}
	c, err := d.connectReader()
	if err != nil {
		return sqldb.UnreadableReason(err) != ""
	}
	var busy, frames, copied, page int64
	err = errors.Join(c.QueryRow(`PRAGMA wal_checkpoint(NOOP)`, nil, []any{&busy, &frames, &copied}),
		c.QueryRow(`PRAGMA page_size`, nil, []any{&page}), c.close())
	if err != nil || fileSize(d.path+"-wal") != size { // it grows again
		return sqldb.UnreadableReason(err) != ""
	}
	const header, frameHeader = 32, 24
	if frames > 0 && size < header+frames*(frameHeader+page) {
		return true
	}
	d.walSize.Store(size)
	return false
}

// fileCheckInterval is the interval of checkFiles in a database without writes.
const fileCheckInterval = 2 * time.Second

// watchFiles calls checkFiles regularly, which logs a lost file while no write does.
func (d *database) watchFiles() {
	tick := time.NewTicker(fileCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = d.checkFiles()
		case <-d.closed:
			return
		}
	}
}

// A commitCounter detects lost commits. It counts commits in the database, and writes the count to the marker once the
// commit is durable. A database that opens with a lower count has lost acknowledged writes. Its write-ahead log was
// truncated or removed after a crash, which SQLite does not report. At most one commit a second is counted. Only the
// writer uses it.
type commitCounter struct {
	file    *os.File // the marker, or nil if it cannot be opened
	count   int64
	counted bool      // the current commit is counted
	due     time.Time // of the next counted commit
}

const (
	countEvery  = time.Second
	countFormat = "Commits: %020d\n"

	commitsName = "commits" // row of the table metadata
)

var countSize = len(fmt.Sprintf(countFormat, 0))

// markedCommits returns the count in the marker, or 0.
func (d *database) markedCommits() int64 {
	text, err := os.ReadFile(d.marker())
	if err != nil {
		return 0
	}
	line, found := strings.CutPrefix(string(text), markerText)
	if !found || len(line) != countSize {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(line, "Commits:")), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ForgetCommits removes the count of a former database from the marker in a folder, if there is one.
func ForgetCommits(dir string) error {
	err := os.Truncate(filepath.Join(dir, MarkerName), int64(len(markerText)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// compareCommits returns the count in the database. It records lost commits if the marker has a higher count.
func (c *conn) compareCommits(marked int64) (count int64, err error) {
	var text string
	err = c.QueryRow(`SELECT value FROM metadata WHERE name = ?1`, []any{commitsName}, []any{&text})
	if err == nil {
		count, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
		return 0, err
	}
	if count >= marked {
		return count, nil
	}
	_, err = c.Exec(`INSERT INTO metadata (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING`,
		[]any{LostCommitsName, time.Now().UTC().Format(time.RFC3339)})
	return count, err
}

// LostCommitsName is the row of the table metadata with the time at which lost commits were found.
const LostCommitsName = "lost commits"

// LostCommits is the likely reason of lost commits.
const LostCommits = "the write-ahead log was cut, emptied or removed after a crash, or an older copy of the database " +
	"was put in its place"

// open opens the marker, and rewrites it if its text differs.
func (m *commitCounter) open(path string, count int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if whole := fmt.Sprintf(markerText+countFormat, count); err == nil && string(text) != whole {
		if _, err = f.WriteAt([]byte(whole), 0); err == nil {
			err = f.Truncate(int64(len(whole)))
		}
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	m.file = f
	return nil
}

// increment counts the current commit, at most once in countEvery.
func (m *commitCounter) increment(c *conn) error {
	if m.counted = m.file != nil && !time.Now().Before(m.due); !m.counted {
		return nil
	}
	var text string
	err := c.QueryRow(`INSERT INTO metadata (name, value) VALUES (?1, '1')
		ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING value`,
		[]any{commitsName}, []any{&text})
	if err != nil {
		return err
	}
	m.count, err = strconv.ParseInt(text, 10, 64)
	return err
}

// save writes the count to the marker after its commit. A failed write only leaves a lower count.
func (m *commitCounter) save() {
	if m.counted {
		_, _ = m.file.WriteAt(fmt.Appendf(nil, countFormat, m.count), int64(len(markerText)))
		m.due = time.Now().Add(countEvery)
	}
}

func (m *commitCounter) close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}
