package jsonlog

import (
	"bufio"
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

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
