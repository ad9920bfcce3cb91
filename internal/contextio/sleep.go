package contextio

import (
	"context"
	"time"
)

// Sleep waits, and reports whether the context has not ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
