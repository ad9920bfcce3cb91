package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Bounds of warnings and errors with the same message: how many are written within
// a time, and how many messages are told apart.
const (
	maxRepeats    = 20
	repeatWindow  = 10 * time.Second
	maxRepeatKeys = 200
)

// repeatLimiter counts warnings and errors by their messages, so that an outage does not
// fill the disk with its log.
type repeatLimiter struct {
	mu     sync.Mutex
	counts map[repeatKey]*repeatCount
}

// A repeatKey is what lines have in common that repeat each other.
type repeatKey struct {
	level   slog.Level
	message string
}

// A repeatCount message is one of the running time.
type repeatCount struct {
	start               time.Time
	written, suppressed int
}

// allow reports whether a line with that message is to be written.
func (r *repeatLimiter) allow(level slog.Level, message string, now time.Time) bool {
	key := repeatKey{level, message}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.counts[key]
	if k == nil {
		if len(r.counts) >= maxRepeatKeys {
			return true
		}
		if r.counts == nil {
			r.counts = map[repeatKey]*repeatCount{}
		}
		k = &repeatCount{start: now}
		r.counts[key] = k
	}
	if k.written >= maxRepeats {
		k.suppressed++
		return false
	}
	k.written++
	return true
}

// report writes how many lines were left out, for each message whose time is over.
func (r *repeatLimiter) report(now time.Time, to slog.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, k := range r.counts {
		if now.Sub(k.start) < repeatWindow {
			continue
		}
		delete(r.counts, key)
		if k.suppressed == 0 {
			continue
		}
		line := slog.NewRecord(now, key.level, "left out", 0)
		line.AddAttrs(slog.String("of", key.message), slog.Int("lines", k.suppressed),
			slog.Int64("seconds", int64(repeatWindow/time.Second)))
		_ = to.Handle(context.Background(), line) // what cannot be logged has nowhere else to go
	}
}
