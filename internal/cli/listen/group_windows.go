package listen

import (
	"os/exec"
	"syscall"
)

// separate has no effect: Ctrl-C reaches the command too.
func separate(*exec.Cmd) {}

// signalGroup ends a command: Windows has no signals.
func signalGroup(cmd *exec.Cmd, _ syscall.Signal) {
	_ = cmd.Process.Kill() // it may have ended
}
