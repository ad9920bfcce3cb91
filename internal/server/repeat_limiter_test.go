package server

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
	log, flush := NewLog(out, "info")
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
	to := slog.NewJSONHandler(&out, nil)
	r, now := &repeatLimiter{}, time.Unix(1_800_000_000, 0)
	for _, wait := range []time.Duration{0, repeatWindow / 2, repeatWindow / 2} {
		now = now.Add(wait)
		r.report(now, to)
		written := 0
		for range maxRepeats + 5 {
			if r.allow(slog.LevelError, "database", now) {
				written++
			}
		}
		if want := map[bool]int{true: 0, false: maxRepeats}[now.Unix() == 1_800_000_005]; written != want {
			t.Errorf("after %v %d lines are written, not %d", wait, written, want)
		}
	}
	if got := strings.Count(out.String(), `"lines":30`); got != 1 {
		t.Errorf("%d summaries: %s", got, &out)
	}
	for i := range 10 * maxRepeatKeys {
		r.allow(slog.LevelError, fmt.Sprint(i), now)
	}
	if len(r.counts) > maxRepeatKeys {
		t.Errorf("%d messages are kept", len(r.counts))
	}
}
