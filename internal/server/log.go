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
	b := &bufferedWriter{w: bufio.NewWriterSize(w, 64<<10)}
	lines := slog.NewJSONHandler(b, &slog.HandlerOptions{Level: l})
	repeats := &repeatLimiter{}
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				repeats.report(now, lines)
				b.flush()
			case <-stop:
				return
			}
		}
	}()
	return slog.New(&logHandler{lines, b, true, repeats}), func() {
		close(stop)
		repeats.report(time.Now().Add(repeatWindow), lines)
		b.flush()
	}
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

// A logHandler writes the lines of calls itself, and leaves what is less usual to
// slog.JSONHandler, which takes twice as long.
type logHandler struct {
	slog.Handler
	out          *bufferedWriter
	withoutAttrs bool // the logger has no attributes and groups of its own

	repeatLimiter *repeatLimiter
}

func (h *logHandler) WithAttrs(list []slog.Attr) slog.Handler {
	return &logHandler{h.Handler.WithAttrs(list), h.out, false, h.repeatLimiter}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.Handler.WithGroup(name), h.out, false, h.repeatLimiter}
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	if r.Level >= slog.LevelWarn && !h.repeatLimiter.allow(r.Level, r.Message, time.Now()) {
		return nil
	}
	if !h.withoutAttrs || !h.out.writeLine(&r) {
		err = h.Handler.Handle(ctx, r)
	}
	if r.Level >= slog.LevelWarn {
		h.out.flush()
	}
	return err
}

// writeLine writes a record, if it is of the usual kind.
func (b *bufferedWriter) writeLine(r *slog.Record) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := jsonLine{b.w.AvailableBuffer(), true}
	l.record(r)
	if l.isPlain {
		b.w.Write(l.text) // as in flush
	}
	return l.isPlain
}

// A jsonLine is usual as long as it has texts and integers alone, and no text that
// has to be escaped.
type jsonLine struct {
	text    []byte
	isPlain bool
}

func (l *jsonLine) record(r *slog.Record) {
	if year := r.Time.Year(); r.Time.IsZero() || year < 0 || year > 9999 {
		l.isPlain = false
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
		return l.isPlain
	})
	l.text = append(l.text, "}\n"...)
}

func (l *jsonLine) attr(a slog.Attr) {
	l.text = append(l.text, ',')
	l.quote(a.Key)
	l.text = append(l.text, ':')
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		l.quote(v.String())
	case slog.KindInt64:
		l.text = strconv.AppendInt(l.text, v.Int64(), 10)
	default:
		l.isPlain = false
	}
}

func (l *jsonLine) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			l.isPlain = false
			return
		}
	}
	l.text = append(l.text, '"')
	l.text = append(l.text, s...)
	l.text = append(l.text, '"')
}
