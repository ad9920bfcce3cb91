package main

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
)

// Sizes of the rows about messages between agents.
const (
	streams        = 2000
	streamsOfAUser = 50
	listeners      = 60 // of a user, who has at most 64 streams
	broadcasts     = 40
	deliveries     = 200
)

const agentHeader = "X-Loci-Actor: agent"

// message returns a request of ann that sends a message.
func message(at *fixture, fields map[string]any) request {
	return at.request("POST", "/v1/agent-messages", fields, agentHeader)
}

// newKeys makes n API keys of ann.
func (p *process) newKeys(at *fixture, n int) (keys []string) {
	for i := range n {
		body := p.ask(at.request("POST", "/v1/api-keys", map[string]any{"name": fmt.Sprint("agent ", i)}))
		keys = append(keys, textField(body, "apiKey"))
	}
	return keys
}

// newAgent makes a key of ann, and the first agent, which calls with it.
func (p *process) newAgent(at *fixture) (key, agent string) {
	key = p.newKeys(at, 1)[0]
	workspace := firstID(p.ask(newRequest("GET", "/v1/workspaces", key, nil, agentHeader)))
	return key, firstID(p.ask(newRequest("GET", "/v1/agents?workspace_id="+workspace, key, nil)))
}

// idleStreams measures the memory that streams without events add to a server. Each turn has a new server.
func (b *bench) idleStreams() []side {
	at := b.copyFixture(b.prose(), b.drivers[0])
	keys := b.newListeners(at, streams)
	measure := func(p *process) figures {
		defer p.stop()
		p.waitIdle()
		before := p.anonymousMemory()
		for i := range streams {
			w := p.listen(keys[i%len(keys)])
			defer w.Close()
		}
		p.waitIdle()
		time.Sleep(3 * time.Second)
		return figures{"KB": (p.anonymousMemory() - before) * 1000 / streams}
	}
	return []side{
		{"floor", func(int) figures { return measure(b.start(nil, b.binary("floor", b.drivers[0]), "hold")) }},
		{"loci", func(int) figures { return measure(b.serve(at, b.drivers[0])) }}}
}

// broadcast measures messages to many agents that listen, for each event.
func (b *bench) broadcast() (sides []side) {
	for _, v := range b.versus("fanout")[:2] {
		at, p := b.serveVariant(b.prose(), v)
		keys := make([]string, listeners)
		if v.floor == nil {
			keys = p.newKeys(at, listeners)
		}
		events := make(chan error, listeners*broadcasts)
		for _, key := range keys {
			w := p.listen(key)
			go func() {
				for err := error(nil); err == nil; {
					err = w.waitForLine("event: message.created")
					events <- err
				}
			}()
		}
		sides = append(sides, side{v.name, func(turn int) figures {
			before := p.cpu()
			check(p.sendAll(1, broadcasts, func(i int) request {
				return message(at, map[string]any{"broadcast": true,
					"content": b.corpus.prose(6_000_000 + turn*broadcasts + i)[:500]})
			}, nil))
			for range broadcasts * listeners {
				select {
				case err := <-events:
					check(err)
				case <-time.After(20 * time.Second):
					check(errors.New("an event is missing"))
				}
			}
			return figures{"cpu": (p.waitIdle() - before) / broadcasts / listeners}
		}})
	}
	return sides
}

// delivery measures how long a message needs to a listener of the same server, and to one of another on PostgreSQL.
func (b *bench) delivery() []side {
	at, p := b.serveVariant(b.prose(), b.loci("loci")[0])
	sides := []side{b.deliverySide("same", at, p, p)}
	if b.postgres != "" {
		shared := b.copyFixture(b.prose(), "postgres")
		sides = append(sides, b.deliverySide("other", shared, b.serve(shared, "postgres"), b.serve(shared, "postgres")))
	}
	return sides
}

// deliverySide sends 100 messages a second to an agent that listens to the server to.
func (b *bench) deliverySide(name string, at *fixture, from, to *process) side {
	key, agent := from.newAgent(at)
	w := to.listen(key)
	return side{name, func(turn int) figures {
		sender := must(from.dial())
		defer sender.Close()
		var posts, events []float64
		for i := range deliveries {
			next, start := time.After(10*time.Millisecond), time.Now()
			var arrived time.Duration
			var failed error
			var all sync.WaitGroup
			all.Go(func() {
				failed = w.waitForLine("event: message.created")
				arrived = time.Since(start)
			})
			content := fmt.Sprint("message ", turn, " ", i)
			must(sender.do(message(at, map[string]any{"toAgentId": agent, "content": content})))
			answered := time.Since(start)
			all.Wait()
			check(failed)
			posts, events = append(posts, microseconds(answered)), append(events, microseconds(arrived))
			<-next
		}
		return figures{"post": quantile(posts, .5), "p50": quantile(events, .5), "p99": quantile(events, .99)}
	}}
}

// sendScale compares messages to agents that have received few and many.
func (b *bench) sendScale() (sides []side) {
	for _, n := range []int{1_000, 100_000} {
		at, p := b.serveVariant(b.prose(), b.loci("loci")[0])
		_, agent := p.newAgent(at)
		p.stop()
		b.fillInbox(at.dir, agent, n)
		send := load{"", busyClients, 400, func(at *fixture, i int) request {
			return message(at, map[string]any{"toAgentId": agent, "content": b.corpus.prose(7_000_000 + i)})
		}}
		sides = append(sides, b.serve(at, b.drivers[0]).sides(fmt.Sprint(n), at, send)...)
	}
	return sides
}

// fillInbox gives an agent closed messages of its own, in a database that no process has open.
func (b *bench) fillInbox(dir, agent string, n int) {
	s := must(store.OpenSQLite(b.ctx, dir, store.Options{}))
	must(sqldb.System(b.ctx, s.DB(), "fill an inbox", func(t *sqldb.Tx) (_ loci.Empty, err error) {
		for _, statement := range []string{`WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n
			WHERE i < ?2) INSERT INTO messages (id, workspace, agent, to_agent, subject, content, thread_id, reply_to,
			created_at) SELECT 'fill-' || n.i, w.row_id, g.row_id, g.id, '', 'A message that was closed.',
			'fill-' || n.i, '', ?3 FROM n, agents g JOIN workspaces w ON w.personal_of = g.user_id WHERE g.id = ?1`,
			`INSERT INTO receipts (message, agent, workspace, number, status, updated_at) SELECT row_id, agent,
				workspace, CAST(substr(id, 6) AS INTEGER), 'closed', ?3 FROM messages WHERE to_agent = ?1 AND ?2 > 0`,
			`UPDATE agents SET last_number = ?2 WHERE id = ?1 AND ?3 > 0`} {
			if err == nil {
				_, err = t.Exec(statement, agent, n, t.Now)
			}
		}
		return loci.Empty{}, err
	}))
	check(s.Close())
}

// hook measures a hook at a server that accepts connections and never answers. The agent waits for it.
func (b *bench) hook() []side {
	silent := must(net.Listen("tcp", "127.0.0.1:0"))
	b.atEnd = append(b.atEnd, func() { silent.Close() })
	home := filepath.Join(b.scratch, "hook")
	env := append(environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home,
		"XDG_CACHE_HOME="+home, "LOCI_URL=http://"+silent.Addr().String(),
		"LOCI_API_KEY=loci_live_00000000000000000000000000000000000000000000")
	run := func(name string, argv ...string) side {
		return side{name, func(turn int) figures {
			var wall []float64
			for i := range 30 {
				c := exec.CommandContext(b.ctx, b.binary("loci", b.drivers[0]), argv...)
				c.Env, c.Stdin = env, strings.NewReader(fmt.Sprintf(`{"session_id": "bench", "cwd": "/home/ann/proj",
					"prompt_id": "%d-%d", "hook_event_name": "UserPromptSubmit", "prompt": "We use steel."}`, turn, i))
				start := time.Now()
				if out, err := c.CombinedOutput(); err != nil {
					check(fmt.Errorf("%w: %s", err, out))
				}
				wall = append(wall, microseconds(time.Since(start))/1000)
			}
			return figures{"ms": quantile(wall, .5), "p95 ms": quantile(wall, .95)}
		}}
	}
	return []side{run("version", "version"), run("hook", "hook", "claude")}
}
