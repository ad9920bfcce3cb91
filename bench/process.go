package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A process is a server under test.
type process struct {
	address string
	pid     int
	stop    func() // ends the server as a service manager does
}

var listenLine = regexp.MustCompile(`listens on http://([0-9.:]+)`)

// start runs a server and returns once it listens. Its log is written to a file, as that of a service. It is stopped at
// the end of the row at the latest.
func (b *bench) start(env []string, argv ...string) *process {
	log := must(os.CreateTemp(b.scratch, "log-"))
	defer log.Close()
	c := exec.Command(argv[0], argv[1:]...)
	c.Env, c.Stderr = append(append(environ(), "LOCI_DRAIN=0"), env...), log
	out := must(c.StdoutPipe())
	check(c.Start())
	p := &process{pid: c.Process.Pid, stop: sync.OnceFunc(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // unless it has ended
		late := time.AfterFunc(20*time.Second, func() { c.Process.Kill() })
		defer late.Stop()
		c.Wait()
	})}
	b.atEnd = append(b.atEnd, p.stop)
	in := bufio.NewReader(out)
	for p.address == "" {
		text, err := in.ReadString('\n')
		if err != nil {
			c.Wait()
			output, _ := os.ReadFile(log.Name())
			check(fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, output))
		}
		if found := listenLine.FindStringSubmatch(text); found != nil {
			p.address = found[1]
		}
	}
	go io.Copy(io.Discard, in)
	return p
}

// environ returns the environment without settings of Loci, so that a run does not depend on them.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "LOCI_") })
}

// cpu returns the microseconds of user and system time of the process. It is 0 for an ended process, whose clients get
// errors.
func (p *process) cpu() float64 {
	n, _ := processCPU(p.pid)
	return float64(n) / 1000
}

// waitIdle waits until the server is idle, so that its work after the responses counts too. It returns its CPU.
func (p *process) waitIdle() float64 { return p.waitForPause(50*time.Millisecond, 1000) }

// waitMerged waits until the server has merged its indexes. It does so after a pause (see compactor in package store),
// with many workspaces not all at once.
func (p *process) waitMerged() { p.waitForPause(17*time.Second, 85_000) }

// waitForPause waits until the server uses less than so many microseconds in a time. It returns its CPU.
func (p *process) waitForPause(pause time.Duration, most float64) float64 {
	before := p.cpu()
	for start := time.Now(); time.Since(start) < 10*time.Minute; {
		time.Sleep(pause)
		now := p.cpu()
		if now-before < most {
			return now
		}
		before = now
	}
	return before
}

// anonymousMemory returns the megabytes of memory without a file behind them.
func (p *process) anonymousMemory() (mb float64) {
	_, rest, _ := strings.Cut(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid)))), "RssAnon:")
	must(fmt.Sscan(rest, &mb))
	return mb * 1024 / 1e6
}
