package files

import (
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

func TestLimiterRefusesFurtherTransfers(t *testing.T) {
	t.Parallel()
	l, one, other := &limiter{most: maxOfAttachment + 2}, loci.NewID(time.Now()), loci.NewID(time.Now())
	var ends []func()
	begin := func(id loci.ID, want bool) {
		t.Helper()
		end, err := l.begin(id)
		if ok := err == nil; ok != want || !ok && (!loci.Is(err, loci.CodeUnavailable) ||
			loci.AsError(err).RetryAfter == 0) {
			t.Fatalf("%v, want %v", err, want)
		}
		if end != nil {
			ends = append(ends, end)
		}
	}
	for range maxOfAttachment {
		begin(one, true)
	}
	begin(one, false)
	begin(other, true)
	begin(other, true)
	begin(other, false)
	ends[0]()
	begin(other, true)
	for _, end := range ends[1:] {
		end()
	}
	if l.running != 0 || len(l.of) != 0 {
		t.Errorf("%d transfers are left: %v", l.running, l.of)
	}
}
