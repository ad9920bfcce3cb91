package relay

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"time"
)

// drainTime is the time that a pipe may be silent after the program has ended, while a process that the program left
// behind holds it open.
const drainTime = 300 * time.Millisecond

// A Relay is a program and the streams of its client.
type Relay struct {
	Args     []string // the program and its arguments
	Environ  []string
	In       io.Reader
	Out, Err io.Writer
	Tap      *Tap // may be nil
}

// Run starts the program, copies until it ends, and returns its exit code, which is 128+n where signal n ended it. The
// error is that of the start. Run closes Out at the end of the program's output, and In when the program stops to read.
func (r *Relay) Run() (code int, err error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwardedSignals()...)
	defer signal.Stop(signals)
	defer catchBrokenPipes()()
	p, err := r.start()
	if err != nil {
		return 0, err
	}
	go p.copyIn(r)
	go p.copyOut(r)
	go func() { p.ended <- p.cmd.Wait() }()
	return p.wait(r, signals)
}

// A process is a running program with the pipes to it.
type process struct {
	cmd     *exec.Cmd
	in      *os.File // its stdin
	out     *os.File // its stdout
	ended   chan error
	outDone chan struct{} // closed at the end of its output
	gone    atomic.Bool   // it has ended
}

// start starts the program with two pipes. The streams of errors and the process group are those of this process.
func (r *Relay) start() (*process, error) {
	p := &process{ended: make(chan error, 1), outDone: make(chan struct{})}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer theirOut.Close()
	p.in, p.out = in, out
	p.cmd = exec.Command(r.Args[0], r.Args[1:]...)
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = r.Environ, theirIn, theirOut, r.Err
	p.cmd.WaitDelay = drainTime // of an Err that is no file
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return p, nil
}

// wait forwards signals until the program has ended and its output is copied.
func (p *process) wait(r *Relay, signals <-chan os.Signal) (code int, err error) {
	for running := true; running; {
		select {
		case s := <-signals:
			if !sentByTerminal(s) {
				_ = p.cmd.Process.Signal(s) // it may have ended
			}
		case <-p.ended:
			running = false
		}
	}
	code = exitCode(p.cmd.ProcessState)
	p.gone.Store(true)
	p.stopReading(r)
	select {
	case <-p.outDone:
	case <-signals: // the client does not read the rest
	}
	return code, nil
}

// stopReading wakes the copying of both directions. A stream without deadlines stays blocked until this process ends.
func (p *process) stopReading(r *Relay) {
	if in, ok := r.In.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = in.SetReadDeadline(time.Now())
	}
	_ = p.out.SetReadDeadline(time.Now().Add(drainTime))
}
