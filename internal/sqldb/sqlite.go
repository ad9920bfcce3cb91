package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci"
)

// Result codes of SQLite (https://sqlite.org/rescode.html).
const (
	sqliteBusy         = 5
	sqliteLocked       = 6
	sqliteIO           = 10
	sqliteCorrupt      = 11
	sqliteFull         = 13
	sqliteCantOpen     = 14
	sqliteConstraint   = 19
	sqliteNotADatabase = 26

	// Extended codes.
	sqliteForeignKey = 787
	sqlitePrimaryKey = 1555
	sqliteUnique     = 2067
)

var sqliteDialect = &Dialect{
	Name:   "sqlite",
	InList: `%[1]s IN (SELECT value FROM json_each(?%[2]d))`,
	ContainsAll: `NOT EXISTS (SELECT 1 FROM json_each(?%[2]d) AS wanted
		WHERE wanted.value NOT IN (SELECT value FROM json_each(%[1]s)))`,
	JoinIDs:    `json_each(?%[1]d) AS picked CROSS JOIN %[2]s ON %[3]s = picked.value`,
	LogVersion: `COALESCE(max(c.seq), 0)`, // one look-up, and one writer: commits come in the order of seq
}

// sqliteDB is a database in a file: one connection that writes, some that read.
type sqliteDB struct {
	migrationDB *sql.DB // for migrations
	dsn         string  // of the file, for the driver
	path        string
	busyTimeout time.Duration
	readers     *readerPool
	waitCount   atomic.Int64  // callers that found no free reader
	closed      chan struct{} // closed with the database
	writer      *sqliteWriter

	maxWALSize, checkpointAt int64

	trackedFiles []trackedFile
	displaced    atomic.Bool // a file is not where it was opened
	log          *slog.Logger
}

// SQLiteFileName is the name of the database in its folder.
const SQLiteFileName = "loci.db"

// OpenSQLite opens the database in dir, which is made if it is not there.
// Several processes may have it open at once.
func OpenSQLite(ctx context.Context, dir string, o Options) (DB, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d, err := newSQLiteDB(filepath.Join(dir, SQLiteFileName), o)
	if err != nil {
		return nil, err
	}
	if err := d.open(ctx, o); err != nil {
		return nil, errors.Join(err, d.migrationDB.Close()) // as it is: the operator is told the cause
	}
	return d, nil
}

// newSQLiteDB prepares connections to a file and opens none.
func newSQLiteDB(path string, o Options) (*sqliteDB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// A connection belongs to one goroutine at a time: SQLite need not lock it for
	// every column that is read.
	name := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_mutex=no"}).String()
	db, err := sql.Open(SQLDriver, name)
	if err != nil {
		return nil, err
	}
	d := &sqliteDB{migrationDB: db, dsn: name, path: path, busyTimeout: o.busyTimeoutOrDefault(),
		closed: make(chan struct{}), log: o.Log}
	d.maxWALSize = cmp.Or(o.MaxWALSize, maxWALSize)
	d.checkpointAt = d.maxWALSize
	return d, nil
}

// withSQLite opens a connection to the database in dir, as it is, for as long as f
// runs. The file must exist.
func withSQLite(dir string, f func(*sqliteConn) error) error {
	path := filepath.Join(dir, SQLiteFileName)
	if _, err := os.Stat(path); err != nil {
		return err
	}
	d, err := newSQLiteDB(path, Options{})
	if err != nil {
		return err
	}
	c, err := d.connect()
	if err == nil {
		err = errors.Join(f(c), c.close())
	}
	if err = errors.Join(err, d.migrationDB.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (d *sqliteDB) open(ctx context.Context, o Options) error {
	if err := d.checkNotEmptied(); err != nil {
		return err
	}
	// The file itself is private, whatever the folder is.
	f, err := os.OpenFile(d.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	w, commits, err := d.openWriter(ctx, o)
	if err != nil {
		return err
	}
	d.readers = newReaderPool(readerCount())
	if !o.OneShot { // a command reads on one connection, mostly
		if err := d.connectReaders(); err != nil {
			return errors.Join(err, w.close())
		}
	}
	d.writer = newWriter(w, d.busyTimeout)
	if err := d.writer.mark.open(d.marker(), commits); err != nil && o.Log != nil { // a full disk may take it later
		o.Log.Warn("mark the folder of the database", "err", err)
	}
	d.trackFiles()
	d.writer.beforeCommit = d.CheckFiles
	go d.writer.run(d.checkpointIfLarge)
	if !o.OneShot {
		go d.watchFiles()
	}
	return nil
}

// openWriter makes the writer's connection and the schema, one process at
// a time: where two turn a new file to WAL at once, SQLite refuses one of them
// without waiting. The others wait for as long as a migration takes.
func (d *sqliteDB) openWriter(ctx context.Context, o Options) (w *sqliteConn, commits int64, err error) {
	l := flock.New(d.path + ".lock")
	if ok, err := l.TryLockContext(ctx, 5*time.Millisecond); !ok {
		return nil, 0, fmt.Errorf("sqldb: another process holds the lock for opening: %w", err)
	}
	defer l.Unlock()
	marked := d.markedCommits() // before the database is read, to which others write
	// The log is copied into the file four times as rarely as by itself: what many
	// commits write, such as the ends of indexes, goes there once for all of them.
	w, err = d.connect(`PRAGMA journal_mode = WAL`, `PRAGMA synchronous = FULL`, `PRAGMA foreign_keys = ON`,
		`PRAGMA secure_delete = FAST`, `PRAGMA cache_size = -16000`, `PRAGMA wal_autocheckpoint = 4000`)
	if err != nil {
		return nil, 0, err
	}
	have, err := w.userVersion()
	if err == nil && have == 0 && marked > 0 {
		err = d.wasThere("empty", d.marker())
	}
	if err == nil {
		err = w.migrate(ctx, d.migrationDB, o)
	}
	if err == nil {
		commits, err = w.compareCommits(marked)
	}
	if err != nil {
		return nil, 0, errors.Join(err, w.close())
	}
	return w, commits, nil
}

// connect opens a connection, which the pool of d.file knows nothing of, and
// prepares it.
func (d *sqliteDB) connect(pragmas ...string) (*sqliteConn, error) {
	raw, err := d.migrationDB.Driver().Open(d.dsn)
	if err != nil {
		return nil, err
	}
	c := &sqliteConn{conn: raw, prepared: map[string]*statement{}, busyTimeout: d.busyTimeout}
	// The wait for another process comes first: the others may have to wait.
	wait := fmt.Sprintf(`PRAGMA busy_timeout = %d`, d.busyTimeout.Milliseconds())
	for _, q := range append([]string{wait, `PRAGMA temp_store = MEMORY`, `PRAGMA mmap_size = 1073741824`},
		pragmas...) {
		if err := c.execContext(context.Background(), q); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", q, err), c.close())
		}
	}
	return c, nil
}

func (d *sqliteDB) Dialect() *Dialect { return sqliteDialect }

func (d *sqliteDB) Read(ctx context.Context, user string, f func(Conn) error) (err error) {
	c, err := d.acquireReader(ctx, user)
	if err != nil {
		return err
	}
	defer func() { d.readers.put(c, user) }()
	c.ctx = ctx
	// The end is owed even where f panics: the connection is used again, or
	// else another one in its place. What was read is right even where the end
	// fails, as it does after a damaged page.
	defer func() {
		if _, end := c.Exec(`COMMIT`, nil); end != nil {
			err = errors.Join(err, c.close())
			c = nil
		}
	}()
	if _, err := c.Exec(`BEGIN`, nil); err != nil {
		return mapSQLiteError(err)
	}
	return mapSQLiteError(f(c))
}

func (d *sqliteDB) Write(ctx context.Context, user string, f func(Conn) error) error {
	return mapSQLiteError(d.writer.submit(ctx, user, f))
}

// Close waits for whoever reads or writes, and takes their connections: a pool
// does not close what is in use. The writer's is the last, which checkpoints.
func (d *sqliteDB) Close() error {
	close(d.closed)
	d.writer.stop()
	var errs []error
	for range d.readers.len() {
		if t := d.readers.acquire(""); t != nil {
			<-t.granted
		}
		if c := d.readers.get(); c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(append(errs, d.writer.conn.close(), d.writer.mark.close(), d.migrationDB.Close())...)
}

// mapSQLiteError tells what the caller can do something about from the rest.
func mapSQLiteError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*loci.Error](err); ok {
		return err
	}
	switch code := sqliteCode(err); {
	// the last for want of file descriptors
	case code&0xff == sqliteBusy, code&0xff == sqliteLocked, code&0xff == sqliteCantOpen:
		return BusyError(err)
	case code == sqliteUnique, code == sqlitePrimaryKey:
		return conflictError(err)
	case code&0xff == sqliteFull:
		return &loci.Error{Code: loci.CodeStorageFull, Message: loci.CodeStorageFull.Hint(), Err: err}
	case code == sqliteForeignKey:
		return notFoundError(err)
	case isCorrupt(err):
		corruptionErrors.Add(1)
	}
	return err
}
