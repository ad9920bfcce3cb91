package retrieve

import (
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestMillisecondsHaveThreeDecimals(t *testing.T) {
	t.Parallel()
	// The binary fractions .1 and .186 have a larger sum.
	testenv.Equal(t, addMilliseconds(Milliseconds(100_400), 185_800*time.Nanosecond), .286)
}
