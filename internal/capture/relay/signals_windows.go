package relay

import "os"

// forwardedSignals returns the signals that must not end this process before the program has ended.
func forwardedSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// catchBrokenPipes has no effect: a write to a closed stdout fails.
func catchBrokenPipes() (stop func()) { return func() {} }

// sentByTerminal reports that each signal comes from the console, which sends it to the program too.
func sentByTerminal(os.Signal) bool { return true }

func exitCode(s *os.ProcessState) int { return s.ExitCode() }
