package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Sizes of the rows about capture.
const (
	hookRuns    = 200
	acpMessages = 300
)

// hook measures a hook at a server that accepts connections and never answers. The agent waits for it.
func (b *bench) hook() error {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer silent.Close()
	home := filepath.Join(b.scratch, "hook")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	env := append(environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home,
		"XDG_CACHE_HOME="+home, "LOCI_URL=http://"+silent.Addr().String(),
		"LOCI_API_KEY=loci_live_00000000000000000000000000000000000000000000")
	var wall, started []float64
	for i := range hookRuns {
		payload := fmt.Sprintf(`{"session_id": "bench", "cwd": "/home/ann/proj", "prompt_id": "p%d", `+
			`"hook_event_name": "UserPromptSubmit", "prompt": "We decided to use part %d for the pump."}`, i, i)
		took, err := runWith(env, payload, b.binary("loci", b.drivers[0]), "hook", "claude")
		if err != nil {
			return err
		}
		wall = append(wall, took)
		if took, err = runWith(env, "", b.binary("loci", b.drivers[0]), "version"); err != nil {
			return err
		}
		started = append(started, took)
	}
	b.report.rounds["hook: wall"] = wall
	b.report.add(line{Row: "hook", What: "loci hook at a server that never answers, p50", Unit: "ms",
		Loci: quantile(wall, .5), Threshold: 300, IsAbsolute: true})
	b.report.add(line{Row: "hook", What: "the same, p99", Unit: "ms", Loci: quantile(wall, .99)})
	b.report.add(line{Row: "hook", What: "start of the program, p50", Unit: "ms", Loci: quantile(started, .5)})
	return nil
}

// runWith runs a command with an input, and returns its wall time in milliseconds.
func runWith(env []string, input string, argv ...string) (float64, error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.Env, c.Stdin = env, bytes.NewReader([]byte(input))
	start := time.Now()
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", argv[0], err, out)
	}
	return float64(time.Since(start).Microseconds()) / 1000, err
}

// acp compares a message to an agent and back with one through two cat.
func (b *bench) acp() error {
	home := filepath.Join(b.scratch, "acp")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	env := append(environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home)
	s, err := b.interleave("acp", 1,
		benchSide{"cat", func(int) (figures, error) { return roundTrips(env, "sh", "-c", "cat | cat") }},
		benchSide{"acp", func(int) (figures, error) {
			return roundTrips(env, b.binary("loci", b.drivers[0]), "acp", "--", "cat")
		}})
	if err != nil {
		return err
	}
	loci, floor := s.median("acp p50"), s.median("cat p50")
	b.report.add(line{Row: "acp", What: "a message there and back through loci acp, p50", Unit: "ms", Loci: loci,
		Floor: floor, Ratio: loci / floor})
	b.report.add(line{Row: "acp", What: "the same beyond two cat", Unit: "ms", Loci: loci - floor, Threshold: 5,
		IsAbsolute: true})
	return nil
}

// roundTrips sends messages to a command, each after the echo of the one before.
func roundTrips(env []string, argv ...string) (figures, error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = env
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	defer c.Wait()
	defer in.Close()
	echo := bufio.NewReader(out)
	var wall []float64
	for i := range acpMessages {
		start := time.Now()
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"x","params":{}}`+"\n", i); err != nil {
			return nil, err
		}
		if _, err := echo.ReadString('\n'); err != nil {
			return nil, err
		}
		wall = append(wall, float64(time.Since(start).Nanoseconds())/1e6)
	}
	return figures{"p50": quantile(wall, .5)}, nil
}
