package store

import (
	"runtime"
	"syscall"
)

// yields is how many steps of niceness the background stands behind what answers.
const yields = 10

// behind runs f on a thread of its own, to which Linux prefers every other one of the
// process: who asks wins the processor from who embeds. The thread ends with f, and no
// other inherits its priority.
func behind(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if now, err := niceness(); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, min(19, now+yields)) // a system that forbids it is as before
		}
		f()
	}()
	<-done
}

// niceness is that of the calling thread, of which the system call tells 20 less it.
func niceness() (int, error) {
	n, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	return 20 - n, err
}
