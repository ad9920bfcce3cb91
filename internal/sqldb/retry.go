package sqldb

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
)

// InBatches calls f, a transaction of bounded length, until f reports that nothing is left, or until end or the end of
// ctx. The pause after a call is as long as it took, for others. InBatches reports whether something is left.
func InBatches(ctx context.Context, end time.Time, f func() (more bool, err error)) (more bool, err error) {
	for {
		began := time.Now()
		if more, err = f(); err != nil && ctx.Err() != nil {
			return true, nil
		}
		if err != nil || !more || time.Now().After(end) {
			return more, err
		}
		select {
		case <-ctx.Done():
			return true, nil
		case <-time.After(time.Since(began)):
		}
	}
}

// retryTimeout limits how long maintenance, such as a vacuum, waits for the locks that it needs.
const retryTimeout = time.Minute

// RetryWhileBusy calls f again while it returns CodeUnavailable, for at most retryTimeout.
func RetryWhileBusy(f func() error) error {
	end := time.Now().Add(retryTimeout)
	for {
		err := f()
		if !loci.Is(err, loci.CodeUnavailable) || time.Now().After(end) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}
