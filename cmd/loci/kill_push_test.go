package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// A device is a home folder with a local database, and a key of a server.
type device struct {
	home   string
	server *testServer
}

func newDevice(t *testing.T, v *testServer) *device { return &device{t.TempDir(), v} }

// newFilledDevice returns a device with n local memories, and a key of a new server.
func newFilledDevice(t *testing.T, n int) (*device, *testServer) {
	t.Helper()
	v := newTestServer(t, testenv.Program(t), "--data", t.TempDir())
	v.start(t)
	d := newDevice(t, v)
	d.fill(t, n)
	return d, v
}

// command returns a command of loci on the device.
func (d *device) command(args ...string) *exec.Cmd {
	c := exec.Command(d.server.bin, args...)
	c.Env = []string{"HOME=" + d.home, "LOCI_URL=" + d.server.base, "LOCI_API_KEY=" + d.server.key,
		"PATH=" + os.Getenv("PATH")}
	return c
}

// A copyReport is the part of a report that the tests read.
type copyReport struct {
	OK                          bool
	Created, Updated, Unchanged int
	Code                        string
}

// transfer runs push or pull to its end.
func (d *device) transfer(t *testing.T, args ...string) (r copyReport) {
	t.Helper()
	out, err := d.command(append(args, "--json")...).Output()
	if e := json.Unmarshal(out, &r); e != nil {
		t.Fatalf("%v: %v %v %s", args, err, e, out)
	}
	return r
}

// local calls f with the local database of the device.
func (d *device) local(t *testing.T, f func(h *op.Host)) {
	t.Helper()
	dir := filepath.Join(d.home, ".local", "share", "loci", "local")
	testenv.NoError(t, os.MkdirAll(dir, 0o700))
	l := testenv.Must(server.OpenLocal(context.Background(), dir, false))(t)
	f(l.Host)
	testenv.NoError(t, l.Close())
}

// fill writes n local memories, of which two each have the same text.
func (d *device) fill(t *testing.T, n int) {
	t.Helper()
	d.local(t, func(h *op.Host) {
		for i := range n {
			_ = testenv.Must(op.Do(t.Context(), h, &op.Call{}, service.MemoryCreate,
				loci.CreateMemory{Content: loci.Content(fmt.Sprint("Memory number ", i/2))}))(t)
		}
	})
}

// checkFill fails unless a side has exactly the memories of fill.
func checkFill(t *testing.T, n int, list func(cursor string) loci.Memories) {
	t.Helper()
	counts := map[string]int{}
	for cursor := ""; ; {
		page := list(cursor)
		for _, m := range page.Memories {
			counts[m.Content]++
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	testenv.Equal(t, len(counts), n/2)
	for text, count := range counts {
		testenv.Equal(t, count, 2, text)
	}
}

func (d *device) checkServer(t *testing.T, n int) {
	t.Helper()
	checkFill(t, n, func(cursor string) (page loci.Memories) {
		path := "/v1/memories?limit=100"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		_ = testenv.Must(d.server.call("GET", path, "", nil, &page))(t)
		return page
	})
}

func (d *device) checkLocal(t *testing.T, n int) {
	t.Helper()
	d.local(t, func(h *op.Host) {
		checkFill(t, n, func(cursor string) loci.Memories {
			page := testenv.Must(op.Do(t.Context(), h, &op.Call{}, service.MemoryList,
				loci.ListMemories{Paging: loci.Paging{Limit: 100, Cursor: loci.Cursor(cursor)}}))(t)
			return page
		})
	})
}

func TestKilledPushAndPullMakeNoSecondMemory(t *testing.T) {
	t.Parallel()
	const n = 300
	d, v := newFilledDevice(t, n)
	kills := killUntilDone(t, func() *exec.Cmd { return d.command("push") }, os.Kill)
	d.checkServer(t, n)
	if r := d.transfer(t, "push"); !r.OK || r.Created+r.Updated != 0 || r.Unchanged != n {
		t.Errorf("%+v", r)
	}
	other := newDevice(t, v)
	kills += killUntilDone(t, func() *exec.Cmd { return other.command("pull") }, os.Kill)
	interrupted := newDevice(t, v)
	kills += killUntilDone(t, func() *exec.Cmd { return interrupted.command("pull") }, os.Interrupt)
	other.checkLocal(t, n)
	interrupted.checkLocal(t, n)
	if r := other.transfer(t, "push"); !r.OK || r.Created+r.Updated != 0 || r.Unchanged != n {
		t.Errorf("%+v", r)
	}
	d.checkServer(t, n)
	t.Logf("%d commands were killed", kills)
}

func TestPushContinuesAfterServerWasAway(t *testing.T) {
	t.Parallel()
	const n = 300
	d, v := newFilledDevice(t, n)
	c := d.command("push", "--json")
	out := &strings.Builder{}
	c.Stdout = out
	testenv.NoError(t, c.Start())
	waittest.Until(t, func() bool {
		page := loci.Memories{}
		_ = testenv.Must(v.call("GET", "/v1/memories?limit=1", "", nil, &page))(t)
		return len(page.Memories) > 0
	})
	v.kill()
	if err := c.Wait(); err == nil || !strings.Contains(out.String(), `"unavailable"`) {
		t.Errorf("%v %s", err, out)
	}
	v.start(t) // at another address
	if r := d.transfer(t, "push"); !r.OK || r.Created+r.Updated+r.Unchanged != n {
		t.Errorf("%+v", r)
	}
	d.checkServer(t, n)
}

func TestPushObeysRateLimit(t *testing.T) {
	t.Parallel()
	const n = 60
	d, v := newFilledDevice(t, n)
	v.kill()
	v.env = []string{"LOCI_RATE_LIMIT=1200", "LOCI_RATE_BURST=5"}
	v.start(t)
	began := time.Now()
	if r := d.transfer(t, "push"); !r.OK || r.Created != n {
		t.Errorf("%+v", r)
	}
	if elapsed := time.Since(began); elapsed < 2*time.Second {
		t.Errorf("%d memories took %v: the limit is 20 a second", n, elapsed)
	}
}

func TestSecondPushIsRefusedMeanwhile(t *testing.T) {
	t.Parallel()
	d, _ := newFilledDevice(t, 2)
	unlock := testenv.Must(server.LockSync(filepath.Join(d.home, ".local", "share", "loci", "local")))(t)
	for _, name := range []string{"push", "pull"} {
		out, err := d.command(name).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "wait until it ends") {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
	testenv.NoError(t, unlock())
	if r := d.transfer(t, "push"); !r.OK || r.Created != 2 {
		t.Errorf("%+v", r)
	}
}
