//go:build linux || darwin

package listen

import "syscall"

// openFiles returns how many file descriptors the process may have. The runtime
// of Go has raised the limit to the hard one.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1024
	}
	return l.Cur
}
