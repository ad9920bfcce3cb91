// Package store reads and writes every record, in a database of package sqldb.
//
// Read and Write run a function in a transaction that is scoped to an actor: it reaches the rows of the
// actor's workspaces and no others. System runs one without a scope, for work that no actor asks for.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/vector"
)

// A Store is a database, open.
type Store struct {
	db           *sqldb.Handle
	index        *indexdb.Index
	secret       []byte // of this database: signs cursors
	embedder     *embeddb.Worker
	vectors      *embeddb.Vectors
	storageQuota int64 // bytes of content that an owner may have
	close        func() error

	subscribers []func(Event)
}

// Options say how a Store behaves.
type Options struct {
	Clock          loci.Clock   // nil is the machine's
	Log            *slog.Logger // nil logs nothing
	PageCacheBytes int          // bytes of keyword index kept in memory; 0 is 32 MiB

	// Embedder gives memories their vectors. Without one they wait.
	Embedder vector.Embedder

	// OneShot says that the process runs for one command: it embeds only once it has
	// written a text itself, and what it is at when it ends is finished. It ends at
	// once where the context ends with which the store was opened.
	OneShot bool

	// KeepSchema refuses a database of an earlier schema in place of upgrading it. An
	// empty database gets the newest schema all the same.
	KeepSchema bool

	// StorageQuota is how many bytes of content the workspaces of one owner may hold
	// together; 0 is no limit.
	StorageQuota int64

	busyTimeout time.Duration // of who waits for another; 0 is 10 s
	maxWALSize  int64         // of SQLite; 0 is 64 MiB
	migrations  fs.FS         // in place of those of the program
	idleDelay   time.Duration // after which a workspace's index is tidied; 0 is 10 s
}

// dbOptions returns the options of the database.
func (o Options) dbOptions() sqldb.Options {
	return sqldb.Options{Log: o.Log, OneShot: o.OneShot, KeepSchema: o.KeepSchema, BusyTimeout: o.busyTimeout,
		MaxWALSize: o.maxWALSize, Migrations: o.migrations}
}

// OpenSQLite opens the database in dir, which is made if it is not there.
// Several processes may have it open at once.
func OpenSQLite(ctx context.Context, dir string, o Options) (*Store, error) {
	db, err := sqldb.OpenSQLite(ctx, dir, o.dbOptions())
	if err != nil {
		return nil, err
	}
	return start(ctx, db, o)
}

// OpenPostgres opens the database at url, a postgres:// address.
func OpenPostgres(ctx context.Context, url string, o Options) (*Store, error) {
	db, err := sqldb.OpenPostgres(ctx, url, o.dbOptions())
	if err != nil {
		return nil, err
	}
	return start(ctx, db, o)
}

// An Event tells, after its commit, that something happened that others in
// this process must know at once.
type Event struct {
	Name         EventName
	CredentialID string
	UserID       string
}

// An EventName names an Event.
type EventName string

// EventCredentialEnded tells that a key or a sign-in is worth nothing from now on.
const EventCredentialEnded EventName = "credential.ended"

// Subscribe calls f with each Event after its commit. It must be called before the
// store is used.
func (s *Store) Subscribe(f func(Event)) { s.subscribers = append(s.subscribers, f) }

func (s *Store) publish(e Event) {
	for _, f := range s.subscribers {
		f(e)
	}
}

// start reads what every open store needs to know.
func start(ctx context.Context, db sqldb.DB, o Options) (*Store, error) {
	s := &Store{db: &sqldb.Handle{DB: db, Clock: o.Clock, Log: o.Log, OnFailed: countCorruptIndex}}
	if o.Clock == nil {
		s.db.Clock = time.Now
	}
	if o.Log == nil {
		s.db.Log = slog.New(slog.DiscardHandler)
	}
	if s.storageQuota = o.StorageQuota; s.storageQuota == 0 {
		s.storageQuota = loci.Unlimited
	}
	s.index = indexdb.New(s.db, o.PageCacheBytes, o.idleDelay)
	s.embedder, s.vectors = embeddb.New(s.db, o.Embedder, o.OneShot), embeddb.NewVectors()
	s.close = sync.OnceValue(s.db.Close)
	var err error
	if s.secret, err = s.loadOrCreateSecret(ctx, "cursor"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err = s.reportLostCommits(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err = s.index.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.embedder.Start(ctx)
	s.close = sync.OnceValue(func() error {
		s.embedder.Stop()
		s.index.Stop()
		return s.db.Close()
	})
	return s, nil
}

// Close waits for running calls and closes the database. Later calls get
// Unavailable.
func (s *Store) Close() error { return s.close() }

// Engine names the database for people: "sqlite 3.53.4" or "postgres 18.4".
func (s *Store) Engine() string { return s.db.Dialect().Name }

// Now returns the store's time.
func (s *Store) Now() loci.Time { return s.db.Now() }

// Secret signs cursors; it is the same for every process on this database.
func (s *Store) Secret() []byte { return s.secret }

// Flush flushes the keyword index of a workspace.
func (s *Store) Flush(ctx context.Context, workspaceID string) error {
	rowID, err := SystemRead(ctx, s, "find a workspace to fold", func(t *SystemTx) (rowID int64, err error) {
		err = t.t.conn.QueryRow(`SELECT row_id FROM workspaces WHERE id = ?1`, []any{workspaceID}, []any{&rowID})
		return rowID, sqldb.MapNoRows(err)
	})
	if err != nil {
		return err
	}
	return s.index.Flush(ctx, rowID)
}

// invalidate drops what is cached of a workspace.
func (s *Store) invalidate(workspace int64) {
	s.index.Invalidate(workspace)
	s.vectors.Invalidate(workspace)
}

// Ping writes nothing and reads one row of each table without which nobody is served.
// A database file that was removed or replaced while it is open is an error.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.db.CheckFiles(); err != nil {
		return err
	}
	return s.db.Read(ctx, "", func(c sqldb.Conn) error {
		for _, table := range []string{"metadata", "users", "api_keys", "workspaces"} {
			var text string // of a column that no index has: the table itself is read
			column := "name"
			if table == "metadata" {
				column = "value"
			}
			err := c.QueryRow(`SELECT `+column+` FROM `+table+` LIMIT 1`, nil, []any{&text})
			if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
				return fmt.Errorf("the table %s: %w", table, err)
			}
		}
		return nil
	})
}

// Embedder returns the worker that embeds memories.
func (s *Store) Embedder() *embeddb.Worker { return s.embedder }

// EmbeddingQueue counts the memories that wait to be embedded.
func (t *SystemTx) EmbeddingQueue() (embeddb.QueueStats, error) {
	return embeddb.ReadQueueStats(t.t.conn)
}

// Stats returns the figures of the database. Only the size of a PostgreSQL
// database is asked for there.
func (s *Store) Stats(ctx context.Context) sqldb.Stats { return s.db.Stats(ctx) }
