package listen

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// The time that a command has between SIGTERM and SIGKILL.
const (
	revokedGrace  = time.Second
	canceledGrace = 5 * time.Second
)

// runProgram runs the command with a message on its stdin, and returns its error. It ends the command if the key is
// refused, or if the person asks twice.
func (l *listener) runProgram(ctx, refused context.Context, m loci.Message) error {
	line, err := op.Marshal(m)
	if err != nil {
		return err
	}
	cmd := exec.Command(l.program[0], l.program[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = l.console.Environ, l.console.Out, l.console.Err
	cmd.Stdin = bytes.NewReader(append(line, '\n'))
	cmd.WaitDelay = time.Second // processes that it left behind may hold its streams
	separate(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if errors.Is(err, exec.ErrWaitDelay) { // it has succeeded
			err = nil
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-refused.Done():
		return l.terminate(cmd, ended, revokedGrace)
	case <-ctx.Done():
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	l.note("Waiting for the running command; a second Ctrl-C ends it.")
	select {
	case err := <-ended:
		return err
	case <-refused.Done():
		return l.terminate(cmd, ended, revokedGrace)
	case <-again:
		return l.terminate(cmd, ended, canceledGrace)
	}
}

// terminate ends a running command: SIGTERM, and SIGKILL after the grace.
func (l *listener) terminate(cmd *exec.Cmd, ended <-chan error, grace time.Duration) error {
	signalGroup(cmd, syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		signalGroup(cmd, syscall.SIGKILL)
		return <-ended
	}
}
