//go:build unix

package relay

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwardedSignals returns the signals that go to the program. Ignored ones stay ignored, as under nohup.
func forwardedSignals() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2}
	return slices.DeleteFunc(all, signal.Ignored)
}

// catchBrokenPipes makes a write to a closed stdout fail instead of ending this process.
func catchBrokenPipes() (stop func()) {
	if signal.Ignored(syscall.SIGPIPE) { // the program inherits that
		return func() {}
	}
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

// sentByTerminal reports whether a signal comes from the keyboard. The terminal sends it to the whole process group:
// the program has it already, and a second one may mean something else to it.
func sentByTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

// exitCode returns the exit code of a program, as a shell does.
func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
