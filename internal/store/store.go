// Package store reads and writes every record, in a database of package sqldb.
//
// Read and Write run a function in a transaction in the scope of an actor. It reaches the rows of the actor's
// workspaces and no others. System runs one without a scope, for work that no actor asks for.
package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/erasedb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/vector"
)

// A Store reads and writes the records of an open database.
type Store struct {
	base   *scope.Base
	queues *embeddb.QueueCounter
	eraser *erasedb.Eraser
	secret []byte // signs cursors
	close  func() error
}

// Options configure a Store.
type Options struct {
	Clock      loci.Clock   // nil means the machine's clock
	Log        *slog.Logger // nil logs nothing
	CacheBytes int          // budget of all caches; 0 means cache.DefaultBytes

	// Embedder computes the vectors of memories. Without one they stay in the queue.
	Embedder vector.Embedder

	// OneShot is set by a process that runs for one command. It embeds only after it has written a text, and finishes
	// at its end. The end of the context of Open interrupts it.
	OneShot bool

	// KeepSchema refuses a database with an earlier schema instead of upgrading it. An empty database gets the newest
	// schema.
	KeepSchema bool

	// Identity is that of the PostgreSQL database. Another one is refused. Empty accepts any.
	Identity string

	// Intercept returns what the store uses in place of its database; nil changes nothing. Tests inject faults with it.
	Intercept func(sqldb.DB) sqldb.DB

	// Plans limit what the owner of workspaces may store. The zero value limits nothing.
	Plans identity.Plans

	busyTimeout time.Duration // for a lock; 0 means 10 s
	maxWALSize  int64         // of SQLite; 0 means 64 MiB
	migrations  fs.FS         // nil means the embedded ones
	idleDelay   time.Duration // before the index of a workspace is merged; 0 means 10 s
}

// dbOptions returns the options of the database.
func (o Options) dbOptions() sqldb.Options {
	return sqldb.Options{Log: o.Log, OneShot: o.OneShot, KeepSchema: o.KeepSchema, BusyTimeout: o.busyTimeout,
		MaxWALSize: o.maxWALSize, Identity: o.Identity, Migrations: o.migrations}
}

// OpenSQLite opens the database in dir, and creates it if missing. Several processes may open it.
func OpenSQLite(ctx context.Context, dir string, o Options) (*Store, error) {
	db, err := sqlite.Open(ctx, dir, o.dbOptions())
	if err != nil {
		return nil, err
	}
	return start(ctx, db, o)
}

// OpenPostgres opens the database at url, a postgres:// address.
func OpenPostgres(ctx context.Context, url string, o Options) (*Store, error) {
	db, err := postgres.Open(ctx, url, o.dbOptions())
	if err != nil {
		return nil, err
	}
	return start(ctx, db, o)
}

// Subscribe calls f with each later change of credentials, after its commit.
func (s *Store) Subscribe(f func(accountdb.Change)) { s.base.Changes.Subscribe(f) }

// start starts the background work on an open database.
func start(ctx context.Context, db sqldb.DB, o Options) (*Store, error) {
	if o.Intercept != nil {
		db = o.Intercept(db)
	}
	h := &sqldb.Handle{DB: db, Clock: o.Clock, Log: o.Log, OnFailed: indexdb.CountCorruption}
	if o.Clock == nil {
		h.Clock = time.Now
	}
	if o.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	caches := cache.NewBudget(o.CacheBytes)
	b := &scope.Base{DB: h, Caches: caches, Index: indexdb.New(h, caches, o.idleDelay), Jobs: jobdb.New(h),
		Embedder: embeddb.New(h, caches, o.Embedder, o.OneShot), Vectors: embeddb.NewVectors(caches), Plans: o.Plans,
		Analyses: scope.NewAnalyses()}
	s := &Store{base: b, queues: embeddb.NewQueueCounter(caches), eraser: erasedb.New(h, b.Index, b.Jobs),
		close: sync.OnceValue(h.Close)}
	h.OnChange = func() { b.Records.Publish(struct{}{}) }
	var err error
	if s.secret, err = s.loadOrCreateSecret(ctx, "cursor"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err = h.Check(ctx); err != nil { // from the secret on, the database is known
		return nil, errors.Join(err, s.Close())
	}
	if err = b.Index.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	b.Embedder.Start(ctx)
	s.close = sync.OnceValue(func() error {
		b.Jobs.Stop()
		b.Embedder.Stop()
		b.Index.Stop()
		return h.Close()
	})
	return s, nil
}

// Close waits for running calls and closes the database. Later calls return Unavailable.
func (s *Store) Close() error { return s.close() }

// Engine returns the name of the database engine: "sqlite" or "postgres".
func (s *Store) Engine() string { return s.base.DB.Dialect().Name }

// Now returns the store's time.
func (s *Store) Now() loci.Time { return s.base.DB.Now() }

// Secret returns the key that signs cursors. It is the same for every process on this database.
func (s *Store) Secret() []byte { return s.secret }

// Identity returns the public name of this database, which no other one has.
func (s *Store) Identity() string { return postgres.Identity(hex.EncodeToString(s.secret)) }

// Flush flushes the keyword index of a workspace.
func (s *Store) Flush(ctx context.Context, workspaceID loci.ID) error {
	rowID, err := SystemRead(ctx, s, "find a workspace to flush", func(t *SystemTx) (rowID int64, err error) {
		err = t.t.in.Conn.QueryRow(`SELECT row_id FROM workspaces WHERE id = ?1`, []any{workspaceID}, []any{&rowID})
		return rowID, sqldb.MapNoRows(err)
	})
	if err != nil {
		return err
	}
	return s.base.Index.Flush(ctx, rowID)
}

// Invalidate drops the cached snapshot and binary codes of a workspace. Segments and pages never change, and stay.
func (s *Store) Invalidate(workspace int64) { s.base.Invalidate(workspace) }

// Ping reads one row of each table that every call needs. A database that cannot be written is an error.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.base.DB.Check(ctx); err != nil {
		return err
	}
	return s.base.DB.ReadTx(ctx, "", func(t *sqldb.Tx) error {
		// On a read-only server, as a standby is, a clause that locks is refused even without a row.
		if _, err := t.Exec(`SELECT value FROM metadata LIMIT 0` + t.LockClause("KEY SHARE", "metadata")); err != nil {
			return err
		}
		for _, x := range [][2]string{{"metadata", "value"}, {"users", "name"}, {"api_keys", "name"},
			{"workspaces", "name"}, {"members", "role"}, {"memories", "title"}, {"index_log", "tags"},
			{"keyword_indexes", "CAST(version AS TEXT)"}, {"oauth_clients", "name"}, {"oauth_codes", "scope"},
			{"grants", "scope"}, {"grant_tokens", "CAST(replaced_at AS TEXT)"}, {"attachments", "file_name"}} {
			var text string // no index has the column, so the statement reads the table
			err := t.QueryRow(`SELECT `+x[1]+` FROM `+x[0]+` LIMIT 1`, nil, []any{&text})
			if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
				return fmt.Errorf("the table %s: %w", x[0], err)
			}
		}
		return nil
	})
}

// TryWrite writes a row durably, reads it back and deletes it.
func (s *Store) TryWrite(ctx context.Context) error {
	name := "try " + rand.Text()
	_, err := System(ctx, s, "write a row to try it", func(t *SystemTx) (loci.Empty, error) {
		_, err := t.t.in.Exec(`INSERT INTO metadata (name, value) VALUES (?1, 'written')`, name)
		return loci.Empty{}, err
	})
	if err != nil {
		return err
	}
	_, err = System(ctx, s, "delete a row that was written to try it", func(t *SystemTx) (loci.Empty, error) {
		var value string
		return loci.Empty{}, t.t.in.Conn.QueryRow(`DELETE FROM metadata WHERE name = ?1 RETURNING value`, []any{name},
			[]any{&value})
	})
	if errors.Is(err, sqldb.ErrNoRows) {
		err = errors.New("a row that was written is not there")
	}
	return err
}

// ClockSkew returns how far the clock of this machine is ahead of that of the PostgreSQL server. An SQLite database
// has no clock of its own.
func (s *Store) ClockSkew(ctx context.Context) (skew time.Duration, known bool, err error) {
	if !s.base.DB.Dialect().Postgres {
		return 0, false, nil
	}
	micros, err := SystemRead(ctx, s, "read the clock of the database", func(t *SystemTx) (micros int64, err error) {
		return micros, t.t.in.Conn.QueryRow(
			`SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)`, nil, []any{&micros})
	})
	return time.Since(time.UnixMicro(micros)), err == nil, err
}

// DB returns the database, for package integrity.
func (s *Store) DB() *sqldb.Handle { return s.base.DB }

// Caches returns the budget of the caches, which those of other packages share.
func (s *Store) Caches() *cache.Budget { return s.base.Caches }

// Index returns the keyword indexes.
func (s *Store) Index() *indexdb.Index { return s.base.Index }

// Embedder returns the worker that embeds memories.
func (s *Store) Embedder() *embeddb.Worker { return s.base.Embedder }

// Eraser returns the eraser of deleted atlases and workspaces.
func (s *Store) Eraser() *erasedb.Eraser { return s.eraser }

// Jobs returns the queue of the background jobs that are kept in the database.
func (s *Store) Jobs() *jobdb.Queue { return s.base.Jobs }

// JobStats counts the jobs in the database.
func (t *SystemTx) JobStats() ([]jobdb.Stats, error) { return jobdb.ReadStats(t.t.in.Conn) }

// AddJob adds a background job to the transaction.
func (t *SystemTx) AddJob(kind string, subject loci.ID) error { return t.t.AddJob(kind, subject) }

// AddDelayedJob adds a background job that is due after a delay.
func (t *SystemTx) AddDelayedJob(kind string, subject loci.ID, delay time.Duration) error {
	return t.t.in.Jobs.AddAt(t.t.in.Conn, kind, string(subject), loci.TimeOf(t.t.in.Conn.Now.Std().Add(delay)))
}

// EmbeddingQueue counts the memories that wait to be embedded.
func (t *SystemTx) EmbeddingQueue() (embeddb.QueueStats, error) {
	return embeddb.ReadQueueStats(t.t.in.Conn)
}

// Messages returns the feed of messages for agents that listen.
func (s *Store) Messages() *messagedb.Feed { return messagedb.NewFeed(s.base) }

// Stats returns the figures of the database.
func (s *Store) Stats(ctx context.Context) sqldb.Stats { return s.base.DB.Stats(ctx) }

// serverSettings is the row of metadata with the settings of the server that started last.
const serverSettings = "settings"

// SaveServerSettings stores the settings that the commands of an operator need.
func (t *SystemTx) SaveServerSettings(settings map[string]string) error {
	text, err := json.Marshal(settings)
	if err == nil {
		_, err = t.t.in.Exec(`INSERT INTO metadata (name, value) VALUES (?1, ?2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, serverSettings, string(text))
	}
	return err
}

// ServerSettings returns the settings of the server that started last. It returns none where no server has started.
func (t *SystemTx) ServerSettings() (settings map[string]string, err error) {
	var text string
	err = t.t.in.Conn.QueryRow(`SELECT value FROM metadata WHERE name = ?1`, []any{serverSettings}, []any{&text})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &settings)
	}
	return settings, err
}

// SetPlans replaces the plans of the options. No other call may run.
func (s *Store) SetPlans(p identity.Plans) { s.base.Plans = p }

// fileSecrets is the row of metadata with the secrets of signed addresses and file tokens.
const fileSecrets = "file_secrets"

// A FileSecret signs addresses and tokens of files from its time on.
type FileSecret struct {
	Secret    []byte    `json:"secret"`
	CreatedAt loci.Time `json:"createdAt"`
}

// FileSecrets returns the secrets of files, the newest first.
func (t *SystemTx) FileSecrets() (list []FileSecret, err error) {
	var text string
	err = t.t.in.Conn.QueryRow(`SELECT value FROM metadata WHERE name = ?1`, []any{fileSecrets}, []any{&text})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &list)
	}
	return list, err
}

// RotateFileSecrets adds a secret if the newest one is older than an age, and deletes those that a newer one has
// replaced for that long. It returns the secrets. Concurrent calls add at most one.
func (t *SystemTx) RotateFileSecrets(age time.Duration) ([]FileSecret, error) {
	if err := t.t.in.Conn.AdvisoryLock(fileSecrets); err != nil {
		return nil, err
	}
	list, err := t.FileSecrets()
	due := t.t.in.Conn.Now - loci.Time(age.Microseconds())
	if err != nil || len(list) > 0 && list[0].CreatedAt > due {
		return list, err
	}
	secret := make([]byte, 32)
	rand.Read(secret)
	list = append([]FileSecret{{secret, t.t.in.Conn.Now}}, list[:min(len(list), 1)]...)
	text, err := json.Marshal(list)
	if err == nil {
		_, err = t.t.in.Exec(`INSERT INTO metadata (name, value) VALUES (?1, ?2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, fileSecrets, string(text))
	}
	return list, err
}

// loadOrCreateSecret returns a random secret of this database, and stores it at the first call.
func (s *Store) loadOrCreateSecret(ctx context.Context, name string) ([]byte, error) {
	text, err := SystemRead(ctx, s, "read a secret of the database", func(t *SystemTx) (text string, err error) {
		return text, t.t.in.Conn.QueryRow(`SELECT value FROM metadata WHERE name = ?1`, []any{name}, []any{&text})
	})
	if err != nil {
		secret := make([]byte, 32)
		rand.Read(secret)
		text, err = System(ctx, s, "make a secret of the database", func(t *SystemTx) (text string, err error) {
			return text, t.t.in.Conn.QueryRow(`INSERT INTO metadata (name, value) VALUES (?1, ?2)
				ON CONFLICT (name) DO UPDATE SET value = metadata.value RETURNING value`,
				[]any{name, hex.EncodeToString(secret)}, []any{&text})
		})
	}
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}
