package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// readinessInterval is the pause between two checks. The database must answer one within readinessTimeout.
const (
	readinessInterval = 2 * time.Second
	readinessTimeout  = 3 * time.Second
)

// Readiness is the result of a check that runs in the background, so that whoever
// asks costs the database nothing.
type readiness struct {
	check    func(context.Context) error
	damage   func() []readinessFailure // nil, or what is damaged while the server takes calls
	log      *slog.Logger
	draining atomic.Bool

	mu           sync.Mutex
	lastErr      error // of the last check; nil is well
	failingSince time.Time
}

// A readinessFailure is what keeps a server from taking calls, or what is damaged.
type readinessFailure struct {
	Check string `json:"check"`
	Cause string `json:"cause"`
}

// checkOnce checks once. The log gets a line when the database goes away, and one when
// it is back.
func (r *readiness) checkOnce(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	err := r.check(within)
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch now := time.Now(); {
	case err != nil && r.lastErr == nil:
		r.failingSince = now
		r.log.Error("the database does not answer", "err", causeText(err))
	case err == nil && r.lastErr != nil:
		r.log.Warn("the database answers again", "seconds", int64(now.Sub(r.failingSince)/time.Second))
	}
	r.lastErr = err
}

// causeText returns the text of what went wrong; of a service that is busy, why it is.
func causeText(err error) string {
	if e := loci.AsError(err); e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// failures returns what keeps the server from taking calls; nothing is ready.
func (r *readiness) failures() []readinessFailure {
	failed := []readinessFailure{}
	if r.draining.Load() {
		failed = append(failed, readinessFailure{"server", "it is shutting down"})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastErr != nil {
		failed = append(failed, readinessFailure{"database", causeText(r.lastErr)})
	}
	return failed
}

// databaseUp reports whether the database answered the last check.
func (r *readiness) databaseUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastErr == nil
}

func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	failed := r.failures()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if len(failed) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	var damage []readinessFailure
	if r.damage != nil {
		damage = r.damage()
	}
	_ = json.NewEncoder(w).Encode(struct { // a caller that leaves misses it
		OK     bool               `json:"ok"`
		Failed []readinessFailure `json:"failed,omitempty"`
		Damage []readinessFailure `json:"damage,omitempty"`
	}{len(failed) == 0, failed, damage})
}

// seenDamage returns the damage that this process has met. The server goes on with it: an
// operator has to look, and a restart would mend nothing.
func seenDamage() (list []readinessFailure) {
	for _, c := range []struct {
		check string
		n     int64
		cause string
	}{
		{"index", store.CorruptIndexReads(), "searches or jobs met a damaged keyword index: run loci admin check " +
			"--repair"},
		{"file", store.CorruptionErrors(), "statements met a damaged file: run loci admin check"},
		{"samples", store.InconsistencyCount(), "findings of samples and of the start: run loci admin check"},
	} {
		if c.n > 0 {
			list = append(list, readinessFailure{c.check, fmt.Sprintf("%d %s", c.n, c.cause)})
		}
	}
	return list
}
