package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/testenv"
)

// wrap lets a script of the shell start the server.
func (v *testServer) wrap(t *testing.T, script string) {
	t.Helper()
	v.bin = filepath.Join(t.TempDir(), "loci")
	testenv.NoError(t, os.WriteFile(v.bin, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
}

// TestServerServesManyClientsWithFewDescriptors opens more clients than the process may have file descriptors. A server
// without a free one closes connections that wait, perhaps with a request that is on its way: clients send it again
// with its Idempotency-Key. SIGHUP stops the server as SIGTERM does.
func TestServerServesManyClientsWithFewDescriptors(t *testing.T) {
	t.Parallel()
	bin := testenv.Program(t)
	v := newTestServer(t, bin, "--data", t.TempDir())
	v.wrap(t, "ulimit -n 64\nexec "+bin+` "$@"`)
	v.start(t)
	v.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: 2 * time.Minute}
	var clients sync.WaitGroup
	for i := range 100 {
		clients.Go(func() {
			for n := range 3 {
				text := fmt.Sprintf("note %d of client %d", n, i)
				_, status, err := v.create(text, text)
				for again := 0; again < 9 && status == 0; again++ {
					_, status, err = v.create(text, text)
				}
				if err != nil || status != http.StatusCreated {
					t.Errorf("status %d: %v", status, err)
				}
			}
		})
	}
	clients.Wait()
	v.client.CloseIdleConnections()
	end := syscall.SIGHUP
	if signal.Ignored(end) { // as under nohup, which the server inherits
		end = syscall.SIGTERM
	}
	testenv.NoError(t, v.running.Process.Signal(end))
	if err := v.running.Wait(); err != nil {
		t.Errorf("%v: %v", end, err)
	}
	v.running = nil
}

// A drain accepts calls, which a second signal ends.
func TestSecondSignalEndsDrain(t *testing.T) {
	t.Parallel()
	v := newTestServer(t, testenv.Program(t), "--data", t.TempDir())
	v.env = []string{"LOCI_DRAIN=1h"}
	v.start(t)
	testenv.NoError(t, v.running.Process.Signal(syscall.SIGTERM))
	for drains := false; !drains; {
		res := testenv.Must(v.client.Get(v.base + "/health"))(t)
		res.Body.Close()
		drains = res.Close
	}
	if _, status, err := v.create("a note in the drain", ""); status != http.StatusCreated {
		t.Errorf("a call in the drain: %d %v", status, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- v.running.Wait() }()
	for {
		_ = v.running.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case err := <-ended:
			if s := v.running.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGTERM {
				t.Errorf("the server ends with %v: %v", s, err)
			}
			v.running = nil
			return
		case <-time.After(10 * time.Millisecond): // the first signal is still being handled
		}
	}
}

// A limit of the size of files, like a quota, is a full disk to clients.
func TestServerReportsFileSizeLimitAsFullStorage(t *testing.T) {
	t.Parallel()
	bin := testenv.Program(t)
	v := newTestServer(t, bin, "--data", t.TempDir())
	v.wrap(t, "ulimit -f 4000\nexec "+bin+` "$@"`)
	v.start(t)
	for i := range 200 {
		_, status, err := v.create(fmt.Sprint(i, strings.Repeat(" text", 10_000)), "")
		switch status {
		case http.StatusCreated:
			continue
		case http.StatusInsufficientStorage:
		default:
			t.Errorf("status %d: %v", status, err)
		}
		v.kill()
		return
	}
	t.Error("no limit was reached")
}

// A log shipper that ends must not end the server.
func TestServerSurvivesTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	bin := testenv.Program(t)
	v := newTestServer(t, bin, "--data", t.TempDir())
	pipe := filepath.Join(t.TempDir(), "log")
	v.wrap(t, "mkfifo "+pipe+"\n(true <"+pipe+") &\nLOCI_LOG_LEVEL=info exec "+bin+` "$@" 2>`+pipe)
	v.start(t)
	for i := range 4 {
		if _, status, err := v.create(fmt.Sprint("note ", i), ""); err != nil || status != http.StatusCreated {
			t.Fatalf("status %d: %v", status, err)
		}
	}
	stop(t, v) // which writes the rest of the log
}
