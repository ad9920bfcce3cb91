package sqlite

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

	"github.com/loci-memory/loci/internal/sqldb"
)

var dialect = &sqldb.Dialect{
	Name:   "sqlite",
	InList: `%[1]s IN (SELECT value FROM json_each(?%[2]d))`,
	ContainsAll: `NOT EXISTS (SELECT 1 FROM json_each(?%[2]d) AS wanted
		WHERE wanted.value NOT IN (SELECT value FROM json_each(%[1]s)))`,
	StringRows: `json_each(?%[1]d) AS list`,
	PairRows: `(SELECT json_extract(pair.value, '$[0]') AS name, json_extract(pair.value, '$[1]') AS number
		FROM json_each(?%[1]d) AS pair) AS list`,
	JoinIDs:    `json_each(?%[1]d) AS picked CROSS JOIN %[2]s ON %[3]s = picked.value`,
	GroupLists: `json_group_array(json_array(%s))`,
	LogVersion: `COALESCE(max(c.seq), 0)`, // one lookup: with one writer, rows are committed in the order of seq
}

// database is a database in a file, with one writing connection and several reading ones.
type database struct {
	migrationDB *sql.DB
	dsn         string // data source name of the file
	path        string
	busyTimeout time.Duration
	readers     *readerPool
	waitCount   atomic.Int64  // callers that waited for a reader
	closed      chan struct{} // closed with the database
	writer      *writer

	mmapSize     int64
	maxWALSize   int64
	checkpointAt int64 // size of the write-ahead log at the next checkpoint

	trackedFiles []trackedFile
	displaced    atomic.Bool  // a file was removed, replaced or cut
	damaged      atomic.Bool  // a statement met a damaged file
	walSize      atomic.Int64 // the last known size of the write-ahead log
	log          *slog.Logger
}

// FileName is the name of the database in its folder.
const FileName = "loci.db"

// Open opens the database in dir, or creates it. Several processes may open it at once.
func Open(ctx context.Context, dir string, o sqldb.Options) (sqldb.DB, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d, err := newDatabase(filepath.Join(dir, FileName), o)
	if err != nil {
		return nil, err
	}
	if err := d.open(ctx, o); err != nil {
		return nil, errors.Join(err, d.migrationDB.Close())
	}
	return d, nil
}

// newDatabase prepares connections to a file, and opens none.
func newDatabase(path string, o sqldb.Options) (*database, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// One goroutine at a time uses a connection, so SQLite need not lock it for every column.
	name := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_mutex=no"}).String()
	db, err := sql.Open(SQLName, name)
	if err != nil {
		return nil, err
	}
	d := &database{migrationDB: db, dsn: name, path: path, busyTimeout: o.TimeoutOrDefault(),
		closed: make(chan struct{}), log: o.Log}
	d.maxWALSize = cmp.Or(o.MaxWALSize, maxWALSize)
	d.checkpointAt = d.maxWALSize
	// A damaged sector that is read through a mapping kills the process. Commands, such as those that check or copy a
	// database, report it instead.
	if !o.OneShot {
		d.mmapSize = 1 << 30
	}
	return d, nil
}

// withFile runs f with a connection to the database in dir. It neither creates nor migrates the file.
func withFile(dir string, f func(*conn) error) error {
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(path); err != nil {
		return err
	}
	d, err := newDatabase(path, sqldb.Options{OneShot: true})
	if err != nil {
		return err
	}
	c, err := d.connect(d.dsn)
	if err == nil {
		err = errors.Join(f(c), c.close())
	}
	if err = errors.Join(err, d.migrationDB.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (d *database) open(ctx context.Context, o sqldb.Options) error {
	w, commits, err := d.openWriter(ctx, o)
	if err != nil {
		return err
	}
	d.readers = newReaderPool(readerCount())
	if !o.OneShot { // a command needs one reader, mostly
		if err := d.connectReaders(); err != nil {
			return errors.Join(err, w.close())
		}
	}
	d.writer = newWriter(w, d.busyTimeout)
	if err := d.writer.commits.open(d.marker(), commits); err != nil && o.Log != nil { // such as a full disk
		o.Log.Warn("mark the folder of the database", "err", err)
	}
	d.trackFiles()
	d.writer.beforeCommit = d.checkFiles
	go d.writer.run(d.checkpointIfLarge)
	if !o.OneShot {
		go d.watchFiles()
	}
	return nil
}

// openWriter opens the connection of the writer, and migrates the schema. A file lock admits one process at a time. If
// two processes switch a new file to WAL at once, SQLite refuses one without waiting.
func (d *database) openWriter(ctx context.Context, o sqldb.Options) (w *conn, commits int64, err error) {
	l := flock.New(d.path + ".lock")
	if ok, err := l.TryLockContext(ctx, 5*time.Millisecond); !ok {
		return nil, 0, fmt.Errorf("sqldb: lock %s: %w", l.Path(), err)
	}
	defer l.Unlock()
	if err := d.checkNotEmptied(); err != nil {
		return nil, 0, err
	}
	// The mode of the file does not depend on that of the folder.
	f, err := os.OpenFile(d.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, 0, err
	}
	f.Close()
	marked := d.markedCommits() // read before the count in the database, which other processes increase
	// Checkpoints are four times as rare as SQLite's default. Pages that many commits change, such as the last leaf
	// of an index, are copied to the file once.
	w, err = d.connect(d.dsn, `PRAGMA journal_mode = WAL`, `PRAGMA synchronous = FULL`, `PRAGMA fullfsync = ON`,
		`PRAGMA foreign_keys = ON`, `PRAGMA secure_delete = FAST`, `PRAGMA cache_size = -16000`,
		`PRAGMA wal_autocheckpoint = 4000`)
	if err != nil {
		return nil, 0, err
	}
	have, err := w.userVersion()
	if err == nil && have == 0 {
		err = d.checkNew(w, marked)
	}
	if err == nil {
		err = markUnreadable(w.migrate(ctx, d.migrationDB, o))
	}
	if err == nil {
		commits, err = w.compareCommits(marked)
	}
	if err != nil {
		return nil, 0, errors.Join(err, w.close())
	}
	return w, commits, nil
}

// connect opens a connection outside the pool of database/sql, and executes the pragmas.
func (d *database) connect(dsn string, pragmas ...string) (*conn, error) {
	raw, err := d.migrationDB.Driver().Open(dsn)
	if err != nil {
		return nil, markUnreadable(err)
	}
	c := &conn{conn: raw, prepared: map[string]*statement{}, busyTimeout: d.busyTimeout}
	// The busy timeout is the first: other pragmas may wait for another process.
	wait := fmt.Sprintf(`PRAGMA busy_timeout = %d`, d.busyTimeout.Milliseconds())
	for _, q := range append([]string{wait, `PRAGMA temp_store = MEMORY`,
		fmt.Sprintf(`PRAGMA mmap_size = %d`, d.mmapSize)}, pragmas...) {
		if err := c.execContext(context.Background(), q); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", q, err), c.close())
		}
	}
	return c, nil
}

func (d *database) Dialect() *sqldb.Dialect { return dialect }

// Read runs f in a transaction of a reader, which sees one snapshot.
func (d *database) Read(ctx context.Context, user string, f func(sqldb.Conn) error) (err error) {
	c, err := d.acquireReader(ctx, user)
	if err != nil {
		return err
	}
	defer func() { d.readers.put(c, user) }()
	c.ctx = ctx
	// The transaction ends even if f panics. A connection that fails to end it, as after a damaged page, is replaced.
	// The rows that it read are valid.
	defer func() {
		if _, end := c.Exec(`COMMIT`, nil); end != nil {
			err = errors.Join(err, c.close())
			c = nil
		}
	}()
	if _, err := c.Exec(`BEGIN`, nil); err != nil {
		return d.mapError(err)
	}
	return d.mapError(f(c))
}

// Write waits for a turn of the writer, and for the commit.
func (d *database) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return d.mapError(d.writer.submit(ctx, user, f))
}

// Close waits for running transactions and closes their connections. The last one checkpoints. After damage that is a
// reader, which cannot: a checkpoint could copy a damaged log over an intact database.
func (d *database) Close() error {
	close(d.closed)
	d.writer.stop()
	damaged := d.damaged.Load() || d.checkTrackedFiles() != nil
	var last *conn
	var errs []error
	for range d.readers.Total() {
		if w := d.readers.Request(0, "", 1); w != nil {
			<-w.Granted
		}
		switch c := d.readers.get(); {
		case c == nil:
		case damaged && last == nil:
			last = c
		default:
			errs = append(errs, c.close())
		}
	}
	errs = append(errs, d.writer.conn.close(), d.writer.commits.close(), d.migrationDB.Close())
	if last != nil {
		errs = append(errs, last.close())
	}
	return errors.Join(errs...)
}

// Notify does nothing: a file has no server.
func (d *database) Notify(context.Context, string, string) error { return nil }

// Listen waits for the end of ctx.
func (d *database) Listen(ctx context.Context, _ string, _ func(string)) error {
	<-ctx.Done()
	return nil
}
