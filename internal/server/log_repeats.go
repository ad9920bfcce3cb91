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
	repeatsMost   = 20
	repeatsWithin = 10 * time.Second
	repeatsKinds  = 200
)

// repeats counts warnings and errors by their messages, so that an outage does not
// fill the disk with its log.
type repeats struct {
	mu    sync.Mutex
	kinds map[repeatKey]*repeated
}

// A repeatKey is what lines have in common that repeat each other.
type repeatKey struct {
	level   slog.Level
	message string
}

// A repeated message is one of the running time.
type repeated struct {
	began         time.Time
	written, left int
}

// allow reports whether a line with that message is to be written.
func (r *repeats) allow(level slog.Level, message string, now time.Time) bool {
	key := repeatKey{level, message}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[key]
	if k == nil {
		if len(r.kinds) >= repeatsKinds {
			return true
		}
		if r.kinds == nil {
			r.kinds = map[repeatKey]*repeated{}
		}
		k = &repeated{began: now}
		r.kinds[key] = k
	}
	if k.written >= repeatsMost {
		k.left++
		return false
	}
	k.written++
	return true
}

// tell writes how many lines were left out, for each message whose time is over.
func (r *repeats) tell(now time.Time, to slog.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, k := range r.kinds {
		if now.Sub(k.began) < repeatsWithin {
			continue
		}
		delete(r.kinds, key)
		if k.left == 0 {
			continue
		}
		line := slog.NewRecord(now, key.level, "left out", 0)
		line.AddAttrs(slog.String("of", key.message), slog.Int("lines", k.left),
			slog.Int64("seconds", int64(repeatsWithin/time.Second)))
		_ = to.Handle(context.Background(), line) // what cannot be logged has nowhere else to go
	}
}
