package openai

import (
	"testing"
	"time"
)

func TestRetryAfterParsesSecondsAndDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	for value, want := range map[string]time.Duration{"": 0, "soon": 0, " 7": 7 * time.Second, "-1": 0,
		"Mon, 03 Feb 2031 04:05:16 GMT": 10 * time.Second, "Mon, 03 Feb 2031 04:05:00 GMT": 0} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
}
