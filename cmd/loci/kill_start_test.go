package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// killUntilDone ends a command by a signal after longer and longer delays, until one succeeds. A command that fails by
// itself fails the test.
func killUntilDone(t *testing.T, command func() *exec.Cmd, signal os.Signal) (kills int) {
	t.Helper()
	for delay := 10 * time.Millisecond; ; delay += delay / 8 {
		c, out := command(), &strings.Builder{}
		if c.Stderr = out; c.Stdout == nil {
			c.Stdout = out
		}
		testenv.NoError(t, c.Start())
		timer := time.AfterFunc(delay+rand.N(delay/8),
			func() { _ = c.Process.Signal(signal) }) // it may have ended
		err := c.Wait()
		early := timer.Stop()
		if err == nil {
			return kills
		}
		if early || signal == os.Kill && c.ProcessState.ExitCode() >= 0 {
			t.Fatalf("after %d kills: %v %s", kills, err, out)
		}
		kills++
	}
}

// A command that ends while it makes the local database leaves one that the next command completes.
func TestKillAtFirstCommandLosesNoDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signal os.Signal
		rounds int
	}{"kill": {os.Kill, 15}, "interrupt": {os.Interrupt, 5}, "terminate": {syscall.SIGTERM, 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kills := 0
			for range rounds(t, c.rounds) {
				home := t.TempDir()
				command := func() *exec.Cmd {
					c := exec.Command(testenv.Program(t), "memory", "list")
					c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
					return c
				}
				kills += killUntilDone(t, command, c.signal)
				testenv.NoError(t, command().Run())
			}
			t.Logf("%d commands were killed", kills)
		})
	}
}

// A stopAtOutput stops a server that has printed its address.
type stopAtOutput struct{ server *exec.Cmd }

func (s stopAtOutput) Write(p []byte) (int, error) {
	_ = s.server.Process.Signal(syscall.SIGTERM) // it may have ended
	return len(p), nil
}

func TestKillAtFirstStartLosesNoDatabase(t *testing.T) {
	t.Parallel()
	for range rounds(t, 5) {
		storetest.EachEmpty(t, func(t *testing.T, d storetest.Database) {
			bin, flags := testenv.Program(t), storeFlags(t, d)
			kills := killUntilDone(t, func() *exec.Cmd {
				c := exec.Command(bin, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
				c.Env, c.Stdout = append(os.Environ(), "LOCI_DRAIN=0"), stopAtOutput{c}
				return c
			}, os.Kill)
			t.Logf("%d servers were killed", kills)
			v := newTestServer(t, bin, flags...)
			v.start(t)
			if _, _, err := v.create("The bridge stands on basalt.", ""); err != nil {
				t.Error(err)
			}
			v.kill()
			v.admin(t, "check")
		})
	}
}

func TestKillAtUpgradeLosesNoMemory(t *testing.T) {
	t.Parallel()
	for range rounds(t, 5) {
		storetest.EachEmpty(t, func(t *testing.T, d storetest.Database) {
			v := &testServer{bin: testenv.Program(t), store: storeFlags(t, d)}
			d.Load(t, "../../internal/store/testdata/schema/schema-3")
			counts := func() (list []string) {
				for _, table := range []string{"users", "memories", "versions", "vectors", "attachments"} {
					list = append(list, d.Count(t, table))
				}
				return list
			}
			want := counts()
			kills := killUntilDone(t, func() *exec.Cmd {
				return exec.Command(v.bin, append([]string{"admin", "migrate"}, v.store...)...)
			}, os.Kill)
			t.Logf("%d upgrades were killed", kills)
			testenv.EqualSlices(t, counts(), want)
			s := d.Open(t, store.Options{KeepSchema: true})
			if r := storetest.CheckIntegrity(t, s, false); r.Found > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}
