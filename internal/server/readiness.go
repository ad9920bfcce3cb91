package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/integrity"
)

// readinessInterval is the pause between two checks. The database must answer one within readinessTimeout.
const (
	readinessInterval = 2 * time.Second
	readinessTimeout  = 3 * time.Second
)

// readiness is the result of a check that runs in the background, so that a request for it costs the database nothing.
type readiness struct {
	check func(context.Context) error
	// nil, or a function that returns the damage seen while the server serves
	damage   func() []Problem
	free     func(context.Context) int64 // bytes on the disk of the database, negative if unknown; nil on PostgreSQL
	log      *slog.Logger
	draining <-chan struct{} // closed once the server shuts down

	mu           sync.Mutex
	lastErr      error     // of the last check; nil means ready
	full         []Problem // of a disk
	failingSince time.Time
}

// newReadiness returns the readiness of a server of a database. draining is closed once the server shuts down.
func newReadiness(st *store.Store, log *slog.Logger, draining <-chan struct{}) *readiness {
	r := &readiness{check: st.Ping, damage: seenDamage, log: log, draining: draining}
	if !st.DB().Dialect().Postgres {
		r.free = func(ctx context.Context) int64 { return st.Stats(ctx).DiskFreeBytes }
	}
	return r
}

// A Problem is a reason why the server is not ready, or seen damage.
type Problem struct {
	Check string `json:"check"`
	Cause string `json:"cause"`
}

// checkOnce checks once. It logs the start and the end of an outage of the database.
func (r *readiness) checkOnce(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	err := r.check(within)
	if ctx.Err() != nil {
		return
	}
	var full []Problem
	if r.free != nil {
		full = fullDisk(r.free(ctx))
	}
	r.set(err, full)
}

// set notes the result of a check.
func (r *readiness) set(err error, full []Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch now := time.Now(); {
	case err != nil && r.lastErr == nil:
		r.failingSince = now
		r.log.Error("the database does not answer", "err", causeText(err))
	case err == nil && r.lastErr != nil:
		r.log.Warn("the database answers again", "seconds", int64(now.Sub(r.failingSince)/time.Second))
	}
	r.lastErr, r.full = err, full
}

// causeText returns the text of an error, or the cause of a busy service.
func causeText(err error) string {
	if e := loci.AsError(err); e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// failures returns the reasons why the server is not ready, none if it is.
func (r *readiness) failures() []Problem {
	failed := []Problem{}
	select {
	case <-r.draining:
		failed = append(failed, Problem{"server", "it is shutting down"})
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastErr != nil {
		failed = append(failed, Problem{"database", causeText(r.lastErr)})
	}
	return failed
}

// databaseUp reports whether the database answered the last check.
func (r *readiness) databaseUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastErr == nil
}

// seen returns what an operator must mend while the server serves.
func (r *readiness) seen() (list []Problem) {
	if r.damage != nil {
		list = r.damage()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(list, r.full...)
}

// state returns what users of the server may know. The causes stay with the operator.
func (r *readiness) state() loci.ServiceState {
	failed := r.failures()
	s := loci.ServiceState{Ready: len(failed) == 0, Problems: []string{}}
	for _, f := range append(failed, r.seen()...) {
		s.Problems = append(s.Problems, problems[f.Check])
	}
	return s
}

// problems are the texts for users of failed checks.
var problems = map[string]string{
	"server":   "The server is shutting down.",
	"database": "The database does not answer.",
	"disk":     "The disk of the server is full: it cannot store.",
	"index":    "A search index is damaged.",
	"file":     "The file of the database is damaged.",
	"samples":  "Stored data is damaged.",
}

func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	failed := r.failures()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if len(failed) > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(readinessInterval/time.Second)))
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(Readiness{len(failed) == 0, failed, r.seen()}) // a disconnected caller misses it
}

// A Readiness is the response of /ready.
type Readiness struct {
	OK     bool      `json:"ok"`
	Failed []Problem `json:"failed,omitempty"`
	Damage []Problem `json:"damage,omitempty"`
}

// Readiness returns what /ready of a server of this database reports.
func (a *Admin) Readiness(ctx context.Context) Readiness {
	r := newReadiness(a.Store, slog.New(slog.DiscardHandler), nil)
	r.checkOnce(ctx)
	failed := r.failures()
	return Readiness{len(failed) == 0, failed, r.seen()}
}

// seenDamage returns the damage that this process has seen. The server
// continues: a restart would repair nothing, and an operator must check.
func seenDamage() (list []Problem) {
	counts, found := integrity.InconsistencyCounts(), int64(0)
	maps.DeleteFunc(counts, func(_ string, n int64) bool { found += n; return n == 0 })
	kinds := slices.Sorted(maps.Keys(counts))
	for _, c := range []struct {
		check string
		n     int64
		cause string
	}{
		{"index", indexdb.CorruptReads(), "searches or jobs met a damaged keyword index: run loci admin check " +
			"--repair"},
		{"file", sqldb.CorruptionErrors(), "statements met a damaged file or a failing disk: run loci admin check"},
		{"samples", found, "samples or the start found inconsistencies of " + strings.Join(kinds, ", ") +
			": run loci admin check"},
	} {
		if c.n > 0 {
			list = append(list, Problem{c.check, fmt.Sprintf("%s (count: %d)", c.cause, c.n)})
		}
	}
	return list
}

// MinFreeBytes is the room on a disk below which writes soon fail.
const MinFreeBytes = 16 << 20

// fullDisk returns the damage of a disk without room for writes. A negative number of bytes is unknown.
func fullDisk(free int64) []Problem {
	if free < 0 || free >= MinFreeBytes {
		return nil
	}
	return []Problem{{"disk", fmt.Sprintf("%d bytes are free on the disk of the database: writes fail until "+
		"there is room", free)}}
}
