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
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// A Store is a database, open.
type Store struct {
	db        database
	clock     loci.Clock
	log       *slog.Logger
	indexes   *indexCache
	secret    []byte       // of this database: signs cursors
	shown     cipher.Block // writes what a search has shown: see Shown
	folds     folder
	embedding embedding
	storage   int64 // bytes of content that an owner may have
	renewal   renewal
	close     func() error

	hearers []func(Event)
}

// Options say how a Store behaves.
type Options struct {
	Clock loci.Clock   // nil is the machine's
	Log   *slog.Logger // nil logs nothing
	Pages int          // bytes of keyword index kept in memory; 0 is 32 MiB

	// Embedder gives memories their vectors. Without one they wait.
	Embedder search.Embedder

	// Brief says that the process runs for one command: it embeds only once it has
	// written a text itself, and what it is at when it ends is finished. It ends at
	// once where the context ends with which the store was opened.
	Brief bool

	// KeepSchema refuses a database of an earlier schema in place of upgrading it. An
	// empty database gets the newest schema all the same.
	KeepSchema bool

	// Storage is how many bytes of content the workspaces of one owner may hold
	// together; 0 is no limit.
	Storage int64

	patience   time.Duration // of who waits for another; 0 is 10 s
	largestLog int64         // of SQLite; 0 is 64 MiB
	quiet      time.Duration // after which a workspace's index is tidied; 0 is 10 s
}

// wait is how long a caller waits for a connection, a lock or its turn before
// it is told that the service is busy.
func (o Options) wait() time.Duration { return cmp.Or(o.patience, 10*time.Second) }

// An Event tells, after its commit, that something happened that others in
// this process must know at once.
type Event struct {
	Name         EventName
	CredentialID string
	UserID       string
}

// An EventName names an Event.
type EventName string

// CredentialEnded tells that a key or a sign-in is worth nothing from now on.
const CredentialEnded EventName = "credential.ended"

// Hear calls f with each Event after its commit. It must be called before the
// store is used.
func (s *Store) Hear(f func(Event)) { s.hearers = append(s.hearers, f) }

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
	insert(q string, args []any) (rid int64, err error)
	// one scans the only row of a query, or returns errNoRow.
	one(q string, args []any, dest []any) error
	// each calls f with every row of a query; it ends at f's first error, of which
	// errEnough is none.
	each(q string, args []any, f func(row) error) error
	// few is each for a query that reads few rows, by their keys: nothing ends
	// it, and nothing watches over it.
	few(q string, args []any, f func(row) error) error
}

// row is one row of a result.
type row interface{ Scan(dest ...any) error }

var errNoRow = errors.New("store: no row")

// A dialect is what the two databases say differently.
type dialect struct {
	name     string
	locks    bool   // rows are locked one by one; else there is one writer
	in       string // a condition: %[1]s is one of the integers of the JSON list ?%[2]d
	hasTexts string // a condition: the JSON list %[1]s holds all texts of the JSON list ?%[2]d
	anyOf    string // the start of a query that joins a row for each integer
	grown    string // an aggregate that tells two states of a log apart to which rows c are only added
}

// finish reads what every open store needs to know.
func (s *Store) finish(ctx context.Context, o Options) (*Store, error) {
	if s.clock = o.Clock; s.clock == nil {
		s.clock = time.Now
	}
	if s.log = o.Log; s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.storage = o.Storage; s.storage == 0 {
		s.storage = loci.Unlimited
	}
	s.indexes = newIndexCache(o.Pages)
	s.folds.start(s, cmp.Or(o.quiet, quietAfter))
	s.close = sync.OnceValue(func() error {
		s.renewal.stop()
		s.embedding.stop()
		s.folds.stop()
		return s.db.close()
	})
	var err error
	if s.secret, err = s.instanceSecret(ctx, "cursor"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.shown = newShown(s.secret)
	if err = s.normalizeAddresses(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err = s.renewal.start(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.embedding.start(ctx, s, o)
	return s, nil
}

// Close waits for what is under way and closes the database. Whoever comes
// later is answered Unavailable.
func (s *Store) Close() error { return s.close() }

// Engine names the database for people: "sqlite 3.53.4" or "postgres 18.4".
func (s *Store) Engine() string { return s.db.dialect().name }

// Now returns the store's time.
func (s *Store) Now() loci.Time { return loci.At(s.clock()) }

// Secret signs cursors; it is the same for every process on this database.
func (s *Store) Secret() []byte { return s.secret }

// statements counts what is sent to a database, for tests.
var statements atomic.Int64

// Statements returns how many statements have been sent in this process.
func Statements() int64 { return statements.Load() }

// Check writes nothing and reads one row of each table without which nobody is served.
// A database file that was removed or replaced while it is open is an error.
func (s *Store) Check(ctx context.Context) error {
	if d, ok := s.db.(*sqliteFile); ok {
		if err := d.displaced(); err != nil {
			return err
		}
	}
	return s.db.read(ctx, "", func(c conn) error {
		for _, table := range []string{"instance", "users", "api_keys", "workspaces"} {
			var text string // of a column that no index has: the table itself is read
			column := "name"
			if table == "instance" {
				column = "value"
			}
			err := c.one(`SELECT `+column+` FROM `+table+` LIMIT 1`, nil, []any{&text})
			if err != nil && !errors.Is(err, errNoRow) {
				return fmt.Errorf("the table %s: %w", table, err)
			}
		}
		return nil
	})
}

// busy is the answer to who comes while the database cannot take more.
func busy(err error) error {
	return &loci.Error{Code: loci.Unavailable, Message: loci.Unavailable.Hint(), Retry: time.Second, Err: err}
}

// taken is the answer to a change that would make a second row with a key that
// must be unique, which no rule of the service has found before.
func taken(err error) error {
	return &loci.Error{Code: loci.Conflict, Message: "Another request has made the same thing: read it again, or choose another name.", Err: err}
}

// gone tells that what a new row was to belong to was deleted meanwhile: whose account
// is purged is still believed for a moment.
func gone(err error) error {
	return &loci.Error{Code: loci.NotFound, Message: loci.NotFound.Hint(), Err: err}
}

func wrap(q string, err error) error {
	if err == nil || errors.Is(err, errNoRow) {
		return err
	}
	return fmt.Errorf("store: %.80s: %w", q, err)
}

// rewritten keeps the texts that queries have in another dialect, up to a number:
// a list over many places is a text of its own.
type rewritten struct {
	mu    sync.RWMutex
	texts map[string]string
	how   func(string) string
}

const maxRewritten = 1000

func (r *rewritten) text(q string) string {
	r.mu.RLock()
	t, ok := r.texts[q]
	r.mu.RUnlock()
	if ok {
		return t
	}
	t = r.how(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.texts == nil || len(r.texts) >= maxRewritten {
		r.texts = map[string]string{}
	}
	r.texts[q] = t
	return t
}
