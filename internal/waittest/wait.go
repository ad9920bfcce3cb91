// Package waittest waits in tests for states that no event reports.
package waittest

import (
	"runtime"
	"time"
)

// A TB is a test: a *testing.T, or a case of a property.
type TB interface {
	Helper()
	Fatal(args ...any)
}

const (
	pause  = 2 * time.Millisecond
	margin = 5 * time.Second // before the deadline, for the report of the failure
)

// Until returns when a condition holds. Its only limit is the deadline of the test run: a busy machine fails no test.
// The failure shows the goroutines, the caller first.
func Until(t TB, holds func() bool) {
	t.Helper()
	for ; !holds(); time.Sleep(pause) {
		d, ok := t.(interface{ Deadline() (time.Time, bool) })
		if !ok {
			continue
		}
		if end, ok := d.Deadline(); ok && time.Until(end) < margin {
			stacks := make([]byte, 1<<16)
			stacks = stacks[:runtime.Stack(stacks, true)]
			t.Fatal("the condition does not hold until the deadline of the test run, while these goroutines run:\n" +
				string(stacks))
		}
	}
}
