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

// readyEvery is the pause between two checks, and readyWithin the time in which the
// database must answer one.
const (
	readyEvery  = 2 * time.Second
	readyWithin = 3 * time.Second
)

// Readiness is the result of a check that runs in the background, so that whoever
// asks costs the database nothing.
type readiness struct {
	check    func(context.Context) error
	damage   func() []notReady // nil, or what is damaged while the server takes calls
	log      *slog.Logger
	draining atomic.Bool

	mu   sync.Mutex
	away error // of the last check; nil is well
	from time.Time
}

// A notReady is what keeps a server from taking calls, or what is damaged.
type notReady struct {
	Check string `json:"check"`
	Cause string `json:"cause"`
}

// watch checks until ctx ends.
func (r *readiness) watch(ctx context.Context) {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		r.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// look checks once. The log gets a line when the database goes away, and one when
// it is back.
func (r *readiness) look(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	err := r.check(within)
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch now := time.Now(); {
	case err != nil && r.away == nil:
		r.from = now
		r.log.Error("the database does not answer", "err", cause(err))
	case err == nil && r.away != nil:
		r.log.Warn("the database answers again", "seconds", int64(now.Sub(r.from)/time.Second))
	}
	r.away = err
}

// cause returns the text of what went wrong; of a service that is busy, why it is.
func cause(err error) string {
	if e := loci.AsError(err); e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// failed returns what keeps the server from taking calls; nothing is ready.
func (r *readiness) failed() []notReady {
	failed := []notReady{}
	if r.draining.Load() {
		failed = append(failed, notReady{"server", "it is shutting down"})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away != nil {
		failed = append(failed, notReady{"database", cause(r.away)})
	}
	return failed
}

// up reports whether the database answered the last check.
func (r *readiness) up() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.away == nil
}

func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	failed := r.failed()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if len(failed) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	var damage []notReady
	if r.damage != nil {
		damage = r.damage()
	}
	_ = json.NewEncoder(w).Encode(struct { // a caller that leaves misses it
		OK     bool       `json:"ok"`
		Failed []notReady `json:"failed,omitempty"`
		Damage []notReady `json:"damage,omitempty"`
	}{len(failed) == 0, failed, damage})
}

// seenDamage returns the damage that this process has met. The server goes on with it: an
// operator has to look, and a restart would mend nothing.
func seenDamage() (list []notReady) {
	for _, c := range []struct {
		check string
		n     int64
		cause string
	}{
		{"index", store.CorruptIndexReads(), "searches or jobs met a damaged keyword index: run loci admin check --repair"},
		{"file", store.CorruptReads(), "statements met a damaged file: run loci admin check"},
		{"samples", store.SeenFlaws(), "findings of samples and of the start: run loci admin check"},
	} {
		if c.n > 0 {
			list = append(list, notReady{c.check, fmt.Sprintf("%d %s", c.n, c.cause)})
		}
	}
	return list
}
