package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Bounds of warnings and errors with the same message: how many are written
// within a time, and how many messages are distinguished.
const (
	maxRepeats    = 20
	repeatWindow  = 10 * time.Second
	maxRepeatKeys = 200
)

// repeatLimiter counts warnings and errors by their messages, so that an outage does not fill the disk with its log.
type repeatLimiter struct {
	mu     sync.Mutex
	counts map[repeatKey]*repeatCount
}

// A repeatKey identifies repeated lines.
type repeatKey struct {
	level   slog.Level
	message string
}

// A repeatCount counts a message within the current window.
type repeatCount struct {
	start               time.Time
	written, suppressed int
}

// allow reports whether to write a line with that message.
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

// report writes the number of omitted lines for each message whose window has ended.
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
		_ = to.Handle(context.Background(), line) // a failure to log cannot be logged
	}
}
