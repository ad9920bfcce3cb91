package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mail/mailtest"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// TestKillLosesNoMail kills a server while invitations are sent: one of two on PostgreSQL, the only one on SQLite. Each
// invitation that was stored gets one mail, and one more for each kill that interrupts it, never none.
func TestKillLosesNoMail(t *testing.T) {
	t.Parallel()
	bin := testenv.Program(t)
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		b := &mailtest.Mailbox{Hold: func() { time.Sleep(5 * time.Millisecond) }}
		b.Start(t)
		store := storeFlags(t, d)
		first := newTestServer(t, bin, store...)
		servers := []*testServer{first}
		if d.Address != "" {
			second := &testServer{bin: bin, store: store, key: first.key}
			t.Cleanup(second.kill)
			servers = append(servers, second)
		}
		c := &inviters{acked: map[string]bool{}}
		const kills = 3
		for round := range kills {
			startAll(t, servers, b, round)
			for len(c.teams) < len(servers)*clientsOfServer {
				var made loci.CreatedWorkspace
				_ = testenv.Must(first.call("POST", "/v1/workspaces", "", map[string]string{"name": "Crew"}, &made))(t)
				c.teams = append(c.teams, string(made.Workspace.ID))
			}
			c.inviteUntilKilled(t, servers, round)
			for _, v := range servers[1:] {
				stop(t, v)
			}
		}
		startAll(t, servers, b, kills)
		waittest.Until(t, func() bool { return d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM jobs`)[0] == "0" })
		for _, v := range servers {
			stop(t, v)
		}
		c.check(t, d, b, kills)
	})
}

// startAll starts servers whose clocks are later in each round, so that the leases of a killed one have ended.
func startAll(t *testing.T, servers []*testServer, b *mailtest.Mailbox, round int) {
	t.Helper()
	for _, v := range servers {
		v.env = []string{"LOCI_SMTP_URL=" + b.Address(), fmt.Sprintf("LOCI_CLOCK_OFFSET=%dm", 3*round)}
		v.start(t)
	}
}

// stop stops a server as an operator does.
func stop(t *testing.T, v *testServer) {
	t.Helper()
	testenv.NoError(t, v.running.Process.Signal(syscall.SIGTERM))
	if err := v.running.Wait(); err != nil {
		t.Errorf("a server that is stopped: %v", err)
	}
	v.running = nil
}

// A client sends at most 20 calls of three addresses in each of three rounds: a workspace takes 200 invitations.
const clientsOfServer, callsOfRound = 4, 20

// inviters are clients that invite addresses, each into its own team.
type inviters struct {
	teams []string

	mu    sync.Mutex
	acked map[string]bool // addresses whose invitation was acknowledged
}

// inviteUntilKilled runs clients of each server until the first server is killed.
func (c *inviters) inviteUntilKilled(t *testing.T, servers []*testServer, round int) {
	var clients sync.WaitGroup
	var done atomic.Bool
	for s, v := range servers {
		for k := range clientsOfServer {
			clients.Go(func() {
				for n := 0; n < callsOfRound && !done.Load(); n++ {
					time.Sleep(10 * time.Millisecond)
					to := []string{}
					for i := range 3 {
						to = append(to, fmt.Sprintf("r%ds%dk%dn%di%d@example.com", round, s, k, n, i))
					}
					var out loci.CreatedInvitations
					status, err := v.call("POST", "/v1/workspaces/"+c.teams[s*clientsOfServer+k]+"/invitations", "",
						map[string]any{"emails": to}, &out)
					if status != 0 && status != http.StatusCreated {
						t.Errorf("status %d: %v", status, err)
					}
					if err != nil {
						return
					}
					c.mu.Lock()
					for _, e := range to {
						c.acked[e] = true
					}
					c.mu.Unlock()
				}
			})
		}
	}
	time.Sleep(time.Duration(100+rand.IntN(300)) * time.Millisecond)
	servers[0].running.Process.Kill()
	done.Store(true)
	clients.Wait()
	servers[0].kill()
}

// check compares the mails with the invitations that are stored.
func (c *inviters) check(t *testing.T, d storetest.Database, b *mailtest.Mailbox, kills int) {
	t.Helper()
	mails, links := map[string]int{}, map[string]bool{}
	for _, m := range b.Mails() {
		mails[m.To]++
		links[m.Link(t)] = true
	}
	stored := d.Query(t, `SELECT email FROM invitations`)
	repeated := 0
	for _, e := range stored {
		if mails[e] == 0 {
			t.Errorf("%s got no mail", e)
		}
		repeated += max(0, mails[e]-1)
	}
	if repeated > 2*kills { // a stop may interrupt a mail too
		t.Errorf("%d mails of %d invitations were repeated after %d kills", repeated, len(stored), kills)
	}
	for e := range c.acked {
		if !slices.Contains(stored, e) {
			t.Errorf("%s was acknowledged and is not stored", e)
		}
	}
	if len(mails) != len(stored) || len(links) != len(b.Mails()) || len(c.acked) == 0 {
		t.Errorf("%d addresses got mails with %d links, %d are invited, %d acknowledged", len(mails), len(links),
			len(stored), len(c.acked))
	}
	t.Logf("%d invitations, %d acknowledged, %d mails repeated", len(stored), len(c.acked), repeated)
}
