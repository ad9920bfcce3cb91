package retryafter

import (
	"testing"
	"time"
)

func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	for value, want := range map[string]time.Duration{"": 0, "soon": 0, " 7": 7 * time.Second, "-1": 0, "1.5": 0,
		"Mon, 03 Feb 2031 04:05:16 GMT": 10 * time.Second, "Mon, 03 Feb 2031 04:05:00 GMT": 0,
		"Monday, 03-Feb-31 04:05:16 GMT": 10 * time.Second, "Mon Feb  3 04:05:16 2031": 10 * time.Second,
		"999999999": Max, "99999999999": Max,
		"Tue, 03 Feb 2071 04:05:06 GMT": Max} {
		if got := Parse(value, now); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
}
