package serverlog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/logtest"
)

func TestRepeatLimiterCountsErrors(t *testing.T) {
	t.Parallel()
	out := &logtest.Buffer{}
	log, flush := New(out, "json", "info")
	for i := range 1000 {
		log.Error("database", "err", errors.New("away"), "n", i)
		log.Info("call", "n", i)
	}
	log.Warn("something else")
	flush()
	text := out.String()
	for part, want := range map[string]int{
		`"msg":"database"`: maxRepeats, `"msg":"call"`: 1000, `"msg":"something else"`: 1,
		fmt.Sprintf(`"msg":"left out","of":"database","lines":%d`, 1000-maxRepeats): 1, `"msg":"left out"`: 1,
	} {
		if got := strings.Count(text, part); got != want {
			t.Errorf("%s is written %d times, not %d", part, got, want)
		}
	}
}

func TestRepeatLimiterResetsAfterWindow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	to, now := slog.NewJSONHandler(&out, nil), time.Unix(1_800_000_000, 0)
	r := newRepeatLimiter(func() time.Time { return now })
	for i, want := range []int{maxRepeats, 0, maxRepeats} {
		if i == 2 {
			r.report(to)
		}
		written := 0
		for range maxRepeats + 5 {
			if r.allow(slog.LevelError, "database") {
				written++
			}
		}
		if written != want {
			t.Errorf("after %d half windows %d lines are written, not %d", i, written, want)
		}
		now = now.Add(repeatWindow / 2)
	}
	if got := strings.Count(out.String(), `"lines":30`); got != 1 {
		t.Errorf("%d summaries: %s", got, &out)
	}
	out.Reset()
	if r.report(to); !strings.Contains(out.String(), `"lines":5,`) {
		t.Errorf("the second summary is %s", &out)
	}
	for i := range 2 * maxRepeatKeys {
		for range maxRepeats + 1 {
			r.allow(slog.LevelError, fmt.Sprint(i))
		}
	}
	if len(r.suppressed) != maxRepeatKeys {
		t.Errorf("%d messages are kept", len(r.suppressed))
	}
}
