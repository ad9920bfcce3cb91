package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// cpuOf returns the nanoseconds of user and system time that a process has
// spent. The clock is one of the kernel's: its number is the complement of the
// process id, and 2 for the time that the scheduler counts
// (include/linux/posix-timers_types.h).
func cpuOf(pid int) (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid)<<3|2, &t)
	return t.Nano(), err
}

// through waits until what was written to a file is on the disk.
func through(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
