package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// A process is a server under test.
type process struct {
	cmd     *exec.Cmd
	address string
	pid     int // of the server itself, where cmd only traces it
	stopped bool
}

var listenLine = regexp.MustCompile(`listens on http://([0-9.:]+)`)

// start runs a server and returns once it listens. Its log is written to a file, as that of a service. It is stopped at
// the end of the row at the latest.
func (b *bench) start(env []string, argv ...string) (*process, error) {
	log, err := os.CreateTemp(b.scratch, "log-")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c := exec.CommandContext(context.WithoutCancel(b.ctx), argv[0], argv[1:]...)
	c.Env, c.Stderr = append(environ(), env...), log
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: c, pid: c.Process.Pid}
	b.running = append(b.running, p)
	in := bufio.NewReader(out)
	for p.address == "" {
		text, err := in.ReadString('\n')
		if err != nil {
			c.Wait()
			output, _ := os.ReadFile(log.Name())
			return nil, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, output)
		}
		if found := listenLine.FindStringSubmatch(text); found != nil {
			p.address = found[1]
		}
	}
	go io.Copy(io.Discard, in)
	return p, nil
}

// stop ends the server as a service manager does.
func (p *process) stop() {
	if p.stopped {
		return
	}
	p.stopped = true
	if server, err := os.FindProcess(p.pid); err == nil {
		server.Signal(syscall.SIGTERM)
	}
	late := time.AfterFunc(20*time.Second, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	p.cmd.Wait()
}

// cpu returns the microseconds of user and system time of the process. It is 0
// for an ended process, whose clients get errors.
func (p *process) cpu() float64 {
	n, _ := processCPU(p.pid)
	return float64(n) / 1000
}

// waitIdle waits until the server is idle, so that its work after the responses counts too. It returns its CPU.
func (p *process) waitIdle() float64 {
	before := p.cpu()
	for range 600 {
		time.Sleep(50 * time.Millisecond)
		now := p.cpu()
		if now-before < 1000 {
			return now
		}
		before = now
	}
	return before
}

// anonymousMemory returns the bytes of memory without a file behind them.
func (p *process) anonymousMemory() (float64, error) {
	kb := readNumbers(fmt.Sprintf("/proc/%d/status", p.pid))["RssAnon:"]
	if kb == 0 {
		return 0, errors.New("the kernel does not report RssAnon")
	}
	return kb * 1024, nil
}

// mergeIdlePause is the pause after which an index is merged (see compactor in package store), and some more.
const mergeIdlePause = 17 * time.Second

// waitMerged waits until the server has merged its indexes. With many workspaces, some are merged later. The server has
// finished once it uses less than half a hundredth of a processor.
func (p *process) waitMerged() {
	for before := p.cpu(); ; {
		time.Sleep(mergeIdlePause)
		now := p.waitIdle()
		if now-before < float64(mergeIdlePause.Microseconds())/200 {
			return
		}
		before = now
	}
}
