package serverlog

import (
	"bufio"
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestFormatOfLines(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"json": `^\{"time":"[^"]+Z?[^"]*","level":"INFO","msg":"a call","op":"memory.get"\}\n$`,
		"auto": `^\{"time":`,
		Text:   `^time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d level=INFO msg="a call" op=memory.get\n$`,
	} {
		var out bytes.Buffer
		log, flush := New(&out, format, "info")
		log.Debug("not this")
		log.Info("a call", "op", "memory.get")
		flush()
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%s: %s", format, &out)
		}
	}
}

func TestLogBuffersInfoLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := &bufferedWriter{w: bufio.NewWriter(&out)}
	log := slog.New(&handler{slog.NewJSONHandler(b, nil), b, newRepeatLimiter(time.Now)})
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
