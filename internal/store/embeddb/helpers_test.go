package embeddb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/vector"
)

var (
	ctx       = context.Background()
	errFault  = errors.New("the connection is lost")
	user, add = storetest.User, storetest.Add
)

// eachDatabase runs a test on a store of every database, which has one user and no worker.
func eachDatabase(t *testing.T, f func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		f(t, d, s, user(t, s, "ann"))
	})
}

// A faultyDB fails one of its next calls, counted from 1.
type faultyDB struct {
	sqldb.DB
	failRead, failWrite int
}

func (f *faultyDB) Read(ctx context.Context, user string, do func(sqldb.Conn) error) error {
	if f.failRead--; f.failRead == 0 {
		return errFault
	}
	return f.DB.Read(ctx, user, do)
}

func (f *faultyDB) Write(ctx context.Context, user string, do func(sqldb.Conn) error) error {
	if f.failWrite--; f.failWrite == 0 {
		return errFault
	}
	return f.DB.Write(ctx, user, do)
}

// A manualWorker runs its rounds when a test calls round.
type manualWorker struct {
	*embeddb.Worker
	db    *faultyDB
	later time.Duration // of its clock
}

// newWorker returns a worker on a store that has none.
func newWorker(s *store.Store, model vector.Embedder) *manualWorker {
	w := &manualWorker{db: &faultyDB{DB: s.DB().DB}}
	handle := *s.DB()
	handle.DB, handle.Clock = w.db, func() time.Time { return time.Now().Add(w.later) }
	w.Worker = embeddb.New(&handle, model, false)
	return w
}

// round does one round, which must succeed.
func (w *manualWorker) round(t *testing.T) {
	t.Helper()
	testenv.NoError(t, embeddb.RunRound(ctx, w.Worker))
}

// A hookedEmbedder calls a function before it embeds.
type hookedEmbedder struct {
	storetest.FakeEmbedder
	before func()
}

func (m *hookedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.before()
	return m.FakeEmbedder.Embed(ctx, texts)
}
