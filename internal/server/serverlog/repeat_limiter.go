package serverlog

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
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
	lines      *limit.Attempts[repeatKey]
	mu         sync.Mutex
	suppressed map[repeatKey]int // since the last report
}

// A repeatKey identifies repeated lines.
type repeatKey struct {
	level   slog.Level
	message string
}

func newRepeatLimiter(clock loci.Clock) *repeatLimiter {
	return &repeatLimiter{suppressed: map[repeatKey]int{},
		lines: limit.NewAttemptsWithin[repeatKey](clock, repeatWindow, maxRepeats, maxRepeatKeys, limit.Refusal{})}
}

// allow reports whether to write a line with that message.
func (r *repeatLimiter) allow(level slog.Level, message string) bool {
	key := repeatKey{level, message}
	if _, err := r.lines.Take([]repeatKey{key}); err == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.suppressed[key] == 0 && len(r.suppressed) >= maxRepeatKeys {
		return true
	}
	r.suppressed[key]++
	return false
}

// report writes the number of omitted lines of each message, once in each window.
func (r *repeatLimiter) report(to slog.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, lines := range r.suppressed {
		line := slog.NewRecord(time.Now(), key.level, "left out", 0)
		line.AddAttrs(slog.String("of", key.message), slog.Int("lines", lines),
			slog.Int64("seconds", int64(repeatWindow/time.Second)))
		_ = to.Handle(context.Background(), line) // a failure to log cannot be logged
	}
	clear(r.suppressed)
}
