package files

import (
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

func TestLimiterRefusesFurtherTransfers(t *testing.T) {
	t.Parallel()
	l, one, other := newLimiter(maxOfAttachment+2), loci.NewID(time.Now()), loci.NewID(time.Now())
	var ends []func()
	begin := func(id loci.ID, want bool) {
		t.Helper()
		end, err := l.TryAcquire(id, 1)
		if ok := err == nil; ok != want || !ok && (!loci.Is(err, loci.CodeUnavailable) ||
			loci.AsError(err).RetryAfter != busyRetry) {
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
	if n := l.InUse(); n != 0 {
		t.Errorf("%d transfers are left", n)
	}
}
