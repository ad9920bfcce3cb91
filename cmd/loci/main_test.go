package main

import (
	"net/http"
	"os/exec"
	"strconv"
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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": checkExitCode, "await": waitForServer},
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

// waitForServer waits until an address answers.
func waitForServer(ts *testscript.TestScript, _ bool, args []string) {
	for ; ; time.Sleep(5 * time.Millisecond) { // the deadline of the test run ends it
		if res, err := http.Get(args[0]); err == nil {
			ts.Check(res.Body.Close())
			return
		}
	}
}
