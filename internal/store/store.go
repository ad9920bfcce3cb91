// Package store keeps everything that Loci knows, in SQLite or PostgreSQL. It
// is the only room that speaks SQL. The queries are the same text for both;
// what differs is in sqlite.go and postgres.go.
//
// Rows are reachable only through Read and Write, whose transactions see what
// the actor may see and nothing else, and through System, for what no actor asks.
package store

import (
	"cmp"
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// A Store is a database, open.
type Store struct {
	db           database
	clock        loci.Clock
	log          *slog.Logger
	indexes      *indexCache
	secret       []byte       // of this database: signs cursors
	seenCipher   cipher.Block // writes what a search has shown: see Shown
	compactor    compactor
	embedder     embedWorker
	storageQuota int64 // bytes of content that an owner may have
	reindexer    reindexer
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

// busyTimeoutOrDefault is how long a caller waits for a connection, a lock or its turn before
// it is told that the service is busy.
func (o Options) busyTimeoutOrDefault() time.Duration { return cmp.Or(o.busyTimeout, 10*time.Second) }

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

// database is one of the two that stand behind a Store.
type database interface {
	// read runs f on a connection that cannot write. write runs it in a
	// transaction, again where the database asks for it, and returns once the
	// transaction is durable. Connections are shared fairly between users; without
	// one the service works for itself.
	read(ctx context.Context, user string, f func(conn) error) error
	write(ctx context.Context, user string, f func(conn) error) error
	close() error
	dialect() *dialect
	stats(ctx context.Context) Stats
}

// conn is a connection in one of the two databases.
type conn interface {
	// exec returns the number of rows that the statement changed.
	exec(q string, args []any) (int64, error)
	// insert adds one row to a table with row ids and returns its own.
	insert(q string, args []any) (rowID int64, err error)
	// queryRow scans the only row of a query, or returns errNoRow.
	queryRow(q string, args []any, dest []any) error
	// query calls f with every row of a query; it ends at f's first error, of which
	// errEnough is none.
	query(q string, args []any, f func(row) error) error
	// queryFew is each for a query that reads few rows, by their keys: nothing ends
	// it, and nothing watches over it.
	queryFew(q string, args []any, f func(row) error) error
}

// row is one row of a result.
type row interface{ Scan(dest ...any) error }

var errNoRows = errors.New("store: no row")

// A dialect is what the two databases say differently.
type dialect struct {
	name        string
	rowLocks    bool   // rows are locked one by one; else there is one writer
	inList      string // a condition: %[1]s is one of the integers of the JSON list ?%[2]d
	containsAll string // a condition: the JSON list %[1]s holds all texts of the JSON list ?%[2]d
	joinIDs     string // the start of a query that joins a row for each integer
	logVersion  string // an aggregate that tells two states of a log apart to which rows c are only added
}

// start reads what every open store needs to know.
func (s *Store) start(ctx context.Context, o Options) (*Store, error) {
	if s.clock = o.Clock; s.clock == nil {
		s.clock = time.Now
	}
	if s.log = o.Log; s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.storageQuota = o.StorageQuota; s.storageQuota == 0 {
		s.storageQuota = loci.Unlimited
	}
	s.indexes = newIndexCache(o.PageCacheBytes)
	s.compactor.start(s, cmp.Or(o.idleDelay, idleDelay))
	s.close = sync.OnceValue(func() error {
		s.reindexer.stop()
		s.embedder.stop()
		s.compactor.stop()
		return s.db.close()
	})
	var err error
	if s.secret, err = s.loadOrCreateSecret(ctx, "cursor"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.seenCipher = newSeenCipher(s.secret)
	if err = s.reindexer.start(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.embedder.start(ctx, s, o)
	return s, nil
}

// Close waits for what is under way and closes the database. Whoever comes
// later is answered Unavailable.
func (s *Store) Close() error { return s.close() }

// Engine names the database for people: "sqlite 3.53.4" or "postgres 18.4".
func (s *Store) Engine() string { return s.db.dialect().name }

// Now returns the store's time.
func (s *Store) Now() loci.Time { return loci.TimeOf(s.clock()) }

// Secret signs cursors; it is the same for every process on this database.
func (s *Store) Secret() []byte { return s.secret }

// statements counts what is sent to a database, for tests.
var statements atomic.Int64

// Statements returns how many statements have been sent in this process.
func Statements() int64 { return statements.Load() }

// Ping writes nothing and reads one row of each table without which nobody is served.
// A database file that was removed or replaced while it is open is an error.
func (s *Store) Ping(ctx context.Context) error {
	if d, ok := s.db.(*sqliteDB); ok {
		if err := d.checkFiles(); err != nil {
			return err
		}
	}
	return s.db.read(ctx, "", func(c conn) error {
		for _, table := range []string{"metadata", "users", "api_keys", "workspaces"} {
			var text string // of a column that no index has: the table itself is read
			column := "name"
			if table == "metadata" {
				column = "value"
			}
			err := c.queryRow(`SELECT `+column+` FROM `+table+` LIMIT 1`, nil, []any{&text})
			if err != nil && !errors.Is(err, errNoRows) {
				return fmt.Errorf("the table %s: %w", table, err)
			}
		}
		return nil
	})
}

// busyError is the answer to who comes while the database cannot take more.
func busyError(err error) error {
	return &loci.Error{Code: loci.CodeUnavailable, Message: loci.CodeUnavailable.Hint(), RetryAfter: time.Second,
		Err: err}
}

// conflictError is the answer to a change that would make a second row with a key that
// must be unique, which no rule of the service has found before.
func conflictError(err error) error {
	return &loci.Error{Code: loci.CodeConflict, Message: "Another request has made the same thing: read it again, or " +
		"choose another name.", Err: err}
}

// notFoundError tells that what a new row was to belong to was deleted meanwhile: whose account
// is purged is still believed for a moment.
func notFoundError(err error) error {
	return &loci.Error{Code: loci.CodeNotFound, Message: loci.CodeNotFound.Hint(), Err: err}
}

func wrapQueryError(q string, err error) error {
	if err == nil || errors.Is(err, errNoRows) {
		return err
	}
	return fmt.Errorf("store: %.80s: %w", q, err)
}

// queryRewriter keeps the texts that queries have in another dialect, up to a number:
// a list over many places is a text of its own.
type queryRewriter struct {
	mu      sync.RWMutex
	cache   map[string]string
	rewrite func(string) string
}

const maxRewrittenQueries = 1000

func (r *queryRewriter) get(q string) string {
	r.mu.RLock()
	t, ok := r.cache[q]
	r.mu.RUnlock()
	if ok {
		return t
	}
	t = r.rewrite(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil || len(r.cache) >= maxRewrittenQueries {
		r.cache = map[string]string{}
	}
	r.cache[q] = t
	return t
}
