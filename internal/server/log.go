package server

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// NewLog returns a log in JSON, as slog.JSONHandler writes it. Lines are
// written together, at the latest after a moment, because a write for each call
// costs more than many calls do; warnings and errors are written at once. Of
// those that repeat, as in an outage, some are written and the others counted.
// flush ends the log.
func NewLog(w io.Writer, level string) (log *slog.Logger, flush func()) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	b := &batched{w: bufio.NewWriterSize(w, 64<<10)}
	lines := slog.NewJSONHandler(b, &slog.HandlerOptions{Level: l})
	repeats := &repeats{}
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				repeats.tell(now, lines)
				b.flush()
			case <-stop:
				return
			}
		}
	}()
	return slog.New(&handler{lines, b, true, repeats}), func() {
		close(stop)
		repeats.tell(time.Now().Add(repeatsWithin), lines)
		b.flush()
	}
}

type batched struct {
	mu sync.Mutex
	w  *bufio.Writer
}

func (b *batched) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.w.Write(p)
}

func (b *batched) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.w.Flush() // a log that cannot be written has nowhere to say so
}

// A handler writes the lines of calls itself, and leaves what is less usual to
// slog.JSONHandler, which takes twice as long.
type handler struct {
	slog.Handler
	to   *batched
	bare bool // the logger has no attributes and groups of its own

	repeats *repeats
}

func (h *handler) WithAttrs(list []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(list), h.to, false, h.repeats}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.to, false, h.repeats}
}

func (h *handler) Handle(ctx context.Context, r slog.Record) (err error) {
	if r.Level >= slog.LevelWarn && !h.repeats.allow(r.Level, r.Message, time.Now()) {
		return nil
	}
	if !h.bare || !h.to.line(&r) {
		err = h.Handler.Handle(ctx, r)
	}
	if r.Level >= slog.LevelWarn {
		h.to.flush()
	}
	return err
}

// line writes a record, if it is of the usual kind.
func (b *batched) line(r *slog.Record) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := line{b.w.AvailableBuffer(), true}
	l.record(r)
	if l.usual {
		b.w.Write(l.text) // as in flush
	}
	return l.usual
}

// A line is usual as long as it has texts and integers alone, and no text that
// has to be escaped.
type line struct {
	text  []byte
	usual bool
}

func (l *line) record(r *slog.Record) {
	if year := r.Time.Year(); r.Time.IsZero() || year < 0 || year > 9999 {
		l.usual = false
		return
	}
	l.text = append(l.text, `{"time":"`...)
	l.text = r.Time.AppendFormat(l.text, time.RFC3339Nano)
	l.text = append(l.text, `","level":"`...)
	l.text = append(l.text, r.Level.String()...)
	l.text = append(l.text, `","msg":`...)
	l.quote(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		l.attr(a)
		return l.usual
	})
	l.text = append(l.text, "}\n"...)
}

func (l *line) attr(a slog.Attr) {
	l.text = append(l.text, ',')
	l.quote(a.Key)
	l.text = append(l.text, ':')
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		l.quote(v.String())
	case slog.KindInt64:
		l.text = strconv.AppendInt(l.text, v.Int64(), 10)
	default:
		l.usual = false
	}
}

func (l *line) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			l.usual = false
			return
		}
	}
	l.text = append(l.text, '"')
	l.text = append(l.text, s...)
	l.text = append(l.text, '"')
}
