//go:build cgo

package main

import (
	"runtime"
	"syscall"
	"testing"
)

// TestThreadsInheritTimerSlack checks a thread that the runtime created after
// the C constructor ran.
func TestThreadsInheritTimerSlack(t *testing.T) {
	t.Parallel()
	slack := make(chan uintptr)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		n, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_GET_TIMERSLACK, 0, 0)
		if failed != 0 {
			t.Error(failed)
		}
		slack <- n
	}()
	if n := <-slack; n != 1_000_000 {
		t.Errorf("the timer slack is %d ns, want 1 ms", n)
	}
}
