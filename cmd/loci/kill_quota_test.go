package main

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// TestServersShareQuotaBesideKill sends calls to two servers with one database and one of them gets killed. Together
// they accept the operations of the month: none more, and at most a tenth less, which the killed one had reserved.
func TestServersShareQuotaBesideKill(t *testing.T) {
	t.Parallel()
	const operations = 1000
	d := storetest.NewPostgresDatabase(t)
	killed := newTestServer(t, testenv.Program(t), "--db", d.Address, "--data", t.TempDir())
	killed.env = []string{"LOCI_PLAN=free", "LOCI_PLAN_FREE_OPERATIONS=1000"}
	other := &testServer{bin: killed.bin, key: killed.key, store: []string{"--db", d.Address, "--data", t.TempDir()},
		env: killed.env}
	t.Cleanup(other.kill)
	killed.start(t)
	other.start(t)

	var accepted, unknown atomic.Int64
	use := func(v *testServer, until func() bool) (clients *sync.WaitGroup) {
		clients = &sync.WaitGroup{}
		for range 4 {
			clients.Go(func() {
				for !until() {
					switch status, err := v.call("GET", "/v1/memories?limit=1", "", nil, &struct{}{}); {
					case err == nil:
						accepted.Add(1)
					case status == http.StatusTooManyRequests:
						return
					case status != 0:
						t.Error(err)
						return
					default:
						unknown.Add(1) // the call may have counted
						return
					}
				}
			})
		}
		return clients
	}
	never := func() bool { return false }
	first := use(killed, never)
	second := use(other, func() bool { return accepted.Load() > operations/2 }) // so that the restarted one has a share
	waittest.Until(t, func() bool { return accepted.Load() >= operations/3 })
	killed.kill()
	first.Wait()
	second.Wait()
	killed.start(t)
	first, second = use(killed, never), use(other, never)
	first.Wait()
	second.Wait()
	if n := accepted.Load(); n > operations || n+unknown.Load() < operations*9/10 {
		t.Errorf("%d calls accepted, %d unknown, of %d", n, unknown.Load(), operations)
	}
	t.Logf("%d calls accepted, %d unknown", accepted.Load(), unknown.Load())
}
