package main

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// processCPU returns the nanoseconds of user and system time that a process has used. The number of the kernel's clock
// is the complement of the process id, and 2 for the scheduler's time (include/linux/posix-timers_types.h).
func processCPU(pid int) (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid)<<3|2, &t)
	return t.Nano(), err
}

// cpuTicks returns the CPU time of all processors in hundredths of seconds. others is the part that this process and
// its ended children have not used.
func cpuTicks() (all, others float64) {
	var user, nice, system, idle, wait, hard, soft, steal float64
	if stat, err := os.ReadFile("/proc/stat"); err == nil {
		fmt.Sscanf(string(stat), "cpu %f %f %f %f %f %f %f %f", &user, &nice, &system, &idle, &wait, &hard, &soft,
			&steal)
	}
	busy := user + nice + system + hard + soft + steal
	own := 0.0
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			own += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e7
		}
	}
	return busy + idle + wait, busy - own
}
