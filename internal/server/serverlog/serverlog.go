// Package serverlog is the log of a server: lines of JSON or text that are written together, without those that repeat.
package serverlog

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Text is the format of a log that people read. Every other format is JSON.
const Text = "text"

// New returns a log in a format. It writes lines together, at most 200 ms late, because a write for each call costs
// more than many calls do. Warnings and errors are written at once; the repeatLimiter counts those that repeat. flush
// ends the log.
func New(w io.Writer, format, level string) (log *slog.Logger, flush func()) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	b := &bufferedWriter{w: bufio.NewWriterSize(w, 64<<10)}
	lines := newLines(b, format, l)
	repeats := newRepeatLimiter(time.Now)
	stop := make(chan struct{})
	go func() {
		tick, report := time.NewTicker(200*time.Millisecond), time.NewTicker(repeatWindow)
		defer tick.Stop()
		defer report.Stop()
		for {
			select {
			case <-tick.C:
				b.flush()
			case <-report.C:
				repeats.report(lines)
			case <-stop:
				return
			}
		}
	}()
	return slog.New(&handler{lines, b, repeats}), func() {
		close(stop)
		repeats.report(lines)
		b.flush()
	}
}

// newLines returns the handler that formats lines. A line of text begins with the local time, in seconds.
func newLines(w io.Writer, format string, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if format != Text {
		return slog.NewJSONHandler(w, options)
	}
	options.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			a.Value = slog.StringValue(a.Value.Time().Local().Format(time.DateOnly + "T" + time.TimeOnly))
		}
		return a
	}
	return slog.NewTextHandler(w, options)
}

type bufferedWriter struct {
	mu sync.Mutex
	w  *bufio.Writer
}

func (b *bufferedWriter) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.w.Write(p)
}

func (b *bufferedWriter) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.w.Flush() // a log that cannot be written has nowhere to say so
}

// A handler counts warnings and errors that repeat, and flushes after each one that it writes.
type handler struct {
	slog.Handler
	out           *bufferedWriter
	repeatLimiter *repeatLimiter
}

func (h *handler) WithAttrs(list []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(list), h.out, h.repeatLimiter}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.out, h.repeatLimiter}
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.Handler.Handle(ctx, r)
	}
	if !h.repeatLimiter.allow(r.Level, r.Message) {
		return nil
	}
	defer h.out.flush()
	return h.Handler.Handle(ctx, r)
}
