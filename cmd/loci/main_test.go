package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"loci": main, "browser": browser, "acp-agent": acpAgent,
		"acp-client": acpClient})
}

// TestScripts runs the scripts of testdata, each with its own home directory.
func TestScripts(t *testing.T) {
	t.Parallel()
	giveUp := t.Context()
	if end, ok := t.Deadline(); ok { // a part remains for the output of the servers
		var cancel context.CancelFunc
		giveUp, cancel = context.WithDeadline(giveUp, end.Add(-time.Until(end)/5))
		t.Cleanup(cancel)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"data", "config", "state", "cache"} {
				e.Setenv("XDG_"+map[string]string{"data": "DATA", "config": "CONFIG", "state": "STATE",
					"cache": "CACHE"}[name]+"_HOME", e.WorkDir+"/xdg/"+name)
			}
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
			address, err := testenv.FreeAddress()
			e.Setenv("LISTEN", address)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": checkExitCode,
			"await": awaitServer(giveUp)},
	})
}

// checkExitCode runs a program that must exit with a code: code 2 loci explode.
func checkExitCode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := err.(*exec.ExitError); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// awaitServer returns a command that waits until an address answers. It fails when a background program has ended, or
// at the end of the context: the log then has the output of these programs.
func awaitServer(giveUp context.Context) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		r, err := http.NewRequestWithContext(giveUp, http.MethodGet, args[0], nil)
		ts.Check(err)
		for ; ; time.Sleep(5 * time.Millisecond) {
			res, err := testenv.Client.Do(r)
			if err == nil {
				ts.Check(res.Body.Close())
				return
			}
			if giveUp.Err() != nil {
				ts.Fatalf("no answer: %v", err)
			}
			for _, c := range ts.BackgroundCmds() {
				if c.Process.Signal(syscall.Signal(0)) == os.ErrProcessDone {
					ts.Fatalf("%v has ended: %v", c, err)
				}
			}
		}
	}
}
