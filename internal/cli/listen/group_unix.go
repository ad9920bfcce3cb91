//go:build unix

package listen

import (
	"os/exec"
	"syscall"
)

// separate puts a command into a process group of its own, so that Ctrl-C does not reach it.
func separate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to a command and the processes that it has started.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid, s) // it may have ended
}
