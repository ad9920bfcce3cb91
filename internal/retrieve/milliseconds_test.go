package retrieve

import (
	"testing"
	"time"
)

func TestMillisecondsHaveThreeDecimals(t *testing.T) {
	t.Parallel()
	// The binary fractions .1 and .186 have a larger sum.
	if got := addMilliseconds(Milliseconds(100_400), 185_800*time.Nanosecond); got != .286 {
		t.Error(got)
	}
}
