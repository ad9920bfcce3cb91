package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// escapedTexts are what a log may have to say.
var escapedTexts = []string{"", "plain", `a "quote"`, `back\slash`, "<a&b>", "tab\t line\n", "\x00\x1f\x7f",
	"\u2028 and \u2029", "\xff no UTF-8", "Größe 你好 \U0001f600"}

func TestLogAgreesWithStdlib(t *testing.T) {
	t.Parallel()
	var got, want bytes.Buffer
	log, flush := NewLog(&got, "debug")
	plain := slog.New(slog.NewJSONHandler(&want, &slog.HandlerOptions{Level: slog.LevelDebug}))
	both := func(at time.Time, level slog.Level, said string, as func(slog.Handler) slog.Handler, attrs ...slog.Attr) {
		t.Helper()
		r := slog.NewRecord(at, level, said, 0)
		r.AddAttrs(attrs...)
		for _, l := range []*slog.Logger{log, plain} {
			if err := as(l.Handler()).Handle(context.Background(), r); err != nil {
				t.Error(err)
			}
		}
		if log.Handler().(*logHandler).out.flush(); got.String() != want.String() {
			t.Errorf("%q\nslog.JSONHandler: %q", &got, &want)
		}
		got.Reset()
		want.Reset()
	}
	bare := func(h slog.Handler) slog.Handler { return h }
	now := time.Date(2026, 11, 21, 1, 2, 3, 120_000_000, time.FixedZone("x", 5400))
	for _, s := range escapedTexts {
		both(now, slog.LevelInfo, s, bare, slog.String("a", "first"), slog.Int64("n", -5))
		both(now, slog.LevelWarn, "call", bare, slog.String(s, "x"), slog.String("after", "x"))
		both(now, slog.LevelDebug, "call", bare, slog.String("s", s), slog.String("after", "x"))
		both(now, slog.LevelError, "call", bare, slog.Any("err", fmt.Errorf("%s: %w", s, errors.New("x"))))
	}
	for _, at := range []time.Time{{}, time.Now(), time.Now().UTC(), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		both(at, slog.LevelInfo+2, "when", bare, slog.Int64("n", 1))
	}
	both(now, slog.LevelInfo, "call", bare)
	both(now, slog.LevelInfo, "call", bare, slog.Attr{}, slog.String("", ""), slog.Int64("", 0), slog.Any("nil", nil),
		slog.Bool("b", true), slog.Float64("f", .5),
		slog.Group("g", slog.Int("n", 1)), slog.Group("none"), slog.Time("t", now), slog.Duration("d", time.Second),
		slog.Any("v", struct{ A string }{"<"}))
	both(now, slog.LevelInfo, "call", func(h slog.Handler) slog.Handler {
		return h.WithAttrs([]slog.Attr{slog.Int("job", 7)})
	}, slog.String("a", "x"))
	both(now, slog.LevelInfo, "call", func(h slog.Handler) slog.Handler {
		return h.WithGroup("g")
	}, slog.String("a", "x"))
	flush()
}

func TestLogBuffersInfoLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := &bufferedWriter{w: bufio.NewWriter(&out)}
	log := slog.New(&logHandler{slog.NewJSONHandler(b, nil), b, true, &repeatLimiter{}})
	log.Info("one", "n", 1)
	log.Debug("not this")
	log.With("job", "x").Info("two")
	if out.Len() > 0 {
		t.Errorf("%s is there at once", &out)
	}
	log.WithGroup("g").Warn("three", "n", 3)
	if lines := strings.Split(out.String(), "\n"); len(lines) != 4 || !strings.Contains(lines[1], `"job":"x"`) ||
		!strings.Contains(lines[2], `"g":{"n":3}`) {
		t.Errorf("a warning leaves %s", &out)
	}
}

func TestLogLineAllocatesNothing(t *testing.T) {
	b := &bufferedWriter{w: bufio.NewWriterSize(new(bytes.Buffer), 64<<10)}
	h := &logHandler{slog.NewJSONHandler(b, nil), b, true, &repeatLimiter{}}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "call", 0)
	r.AddAttrs(slog.String("op", "memory.get"), slog.Int64("us", 21))
	if n := testing.AllocsPerRun(20, func() { h.Handle(context.Background(), r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
