package sqldb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loci-memory/loci"
)

// SQLiteMarkerName is the file that says that its folder has held a database: a volume that
// was not mounted and a file that was deleted are not taken for a new start.
const SQLiteMarkerName = "loci.created"

const markerText = `This folder holds a database of Loci. While this file is here, Loci does not start without loci.db.
To begin with an empty database, delete this file too. The number shows whether a crash lost commits.
`

// checkNotEmptied refuses to make a new database where there was one.
func (d *sqliteDB) checkNotEmptied() error {
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
			return d.wasThere(state, sign)
		}
	}
	return nil
}

func (d *sqliteDB) marker() string { return filepath.Join(filepath.Dir(d.path), SQLiteMarkerName) }

func (d *sqliteDB) wasThere(state, sign string) error {
	return loci.Errorf(loci.CodeConflict, "%s is %s, and %s says that there was a database: mount its volume, or "+
		"restore a backup."+
		" To begin with an empty database, delete %s.", d.path, state, filepath.Base(sign), sign)
}

// A trackedFile file is one that has to stay where it is while it is open.
type trackedFile struct {
	path string
	info fs.FileInfo
}

// trackFiles notes which files are open: the database and its write-ahead log, which has
// the newest commits.
func (d *sqliteDB) trackFiles() {
	for _, path := range []string{d.path, d.path + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			d.trackedFiles = append(d.trackedFiles, trackedFile{path, info})
		}
	}
}

// CheckFiles returns an error while a file of the database is not where it was opened:
// what is committed then goes into a file that nobody finds again.
func (d *sqliteDB) CheckFiles() error {
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

func (d *sqliteDB) checkTrackedFiles() *loci.Error {
	for _, f := range d.trackedFiles {
		info, err := os.Stat(f.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%s was removed while it is open", f.path)
		case err == nil && os.SameFile(info, f.info):
			continue
		case err == nil:
			err = fmt.Errorf("%s was replaced while it is open", f.path)
		}
		return &loci.Error{Code: loci.CodeUnavailable, RetryAfter: time.Minute, Err: err,
			Message: "The database was removed or replaced under this server, which writes nothing any more: " +
				"its operator has to put it back and to restart the server."}
	}
	return nil
}

// fileCheckInterval is how often an idle database looks whether it is still there.
const fileCheckInterval = 2 * time.Second

// watchFiles tells the log of a database that goes away while nobody writes.
func (d *sqliteDB) watchFiles() {
	tick := time.NewTicker(fileCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = d.CheckFiles()
		case <-d.closed:
			return
		}
	}
}
