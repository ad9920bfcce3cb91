package server

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb/scratch"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
)

// Start runs a server until stop is called, and returns once it listens at url. It writes its log to logs.
func Start(s Settings, logs io.Writer) (url string, stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	listening, ended := make(chan string, 1), make(chan error, 1)
	s.onReady = func(url string) { listening <- url }
	go func() { ended <- Serve(ctx, s, io.Discard, logs) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	select {
	case url = <-listening:
		return url, stop, nil
	case err = <-ended:
		cancel()
		return "", nil, err
	}
}

// A BenchServer is an empty database with one user, and a server on it on
// demand: for measurements that touch no other data.
type BenchServer struct {
	Key    string // of the user
	Engine string // the database and, with SQLite, the driver
	Model  string // the generation of the vectors

	settings Settings
	scratch  *scratch.Schema // of PostgreSQL
}

// NewBenchServer makes a database in a temporary folder, or in the empty PostgreSQL database at address. It uses only
// the embedder variables of environ.
func NewBenchServer(ctx context.Context, address string, environ []string) (t *BenchServer, err error) {
	dir, err := os.MkdirTemp("", "loci-bench-")
	if err != nil {
		return nil, err
	}
	t = &BenchServer{settings: Settings{Data: dir}, Engine: "sqlite (" + sqlite.Driver + ")"}
	if err = t.open(ctx, address, environ); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *BenchServer) open(ctx context.Context, address string, environ []string) (err error) {
	flags := map[string]string{"data": t.settings.Data, "listen": "127.0.0.1:0", "rate-limit": "0",
		"drain": "0", "log-level": "error"}
	if address != "" {
		if err := setDB(&t.settings, address); err != nil {
			return loci.Errorf(loci.CodeInvalidQuery, "--db: %v", err)
		}
		if t.scratch, err = scratch.NewSchema(ctx, address); err != nil {
			return err
		}
		t.Engine, flags["db"] = t.scratch.Engine, t.scratch.Address
	}
	environ = slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		return !strings.HasPrefix(e, "LOCI_EMBED_")
	})
	if t.settings, _, err = Load(flags, environ); err != nil {
		return err
	}
	model, _, err := t.settings.embedder()
	if err != nil {
		return err
	}
	t.Model = model.Generation()
	admin, err := OpenAdmin(ctx, t.settings)
	if err != nil {
		return err
	}
	defer admin.Close()
	const email = "bench@localhost"
	if _, err := admin.CreateUser(ctx, email, "", ""); err != nil {
		return err
	}
	made, err := admin.CreateKey(ctx, email, "")
	t.Key = made.APIKey
	return err
}

// Start runs a server on the database until stop is called.
func (t *BenchServer) Start(logs io.Writer) (url string, stop func() error, err error) {
	return Start(t.settings, logs)
}

// Bytes returns the size of the database: that of SQLite's file while no server
// runs, or the growth of the PostgreSQL database.
func (t *BenchServer) Bytes(ctx context.Context) (int64, error) {
	if t.scratch != nil {
		return t.scratch.Bytes(ctx)
	}
	info, err := os.Stat(filepath.Join(t.settings.Data, sqlite.FileName))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Close deletes the database. No server may run on it any more.
func (t *BenchServer) Close() error {
	err := os.RemoveAll(t.settings.Data)
	if t.scratch == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(err, t.scratch.Drop(ctx))
}
