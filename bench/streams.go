package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
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
	idleStreams      = 2000
	streamsOfAKey    = 50
	listeners        = 98 // beside the sender: a user has at most 100 keys
	broadcasts       = 40
	deliveries       = 200
	deliveryInterval = 10 * time.Millisecond
	sends            = 400
)

const agentHeader = "X-Loci-Actor: agent\r\n"

// agentRequest is newRequest with the header that names an agent.
func agentRequest(method, path, key string, body any) request {
	head, rest, _ := strings.Cut(string(newRequest(method, path, key, body)), "\r\n")
	return request(head + "\r\n" + agentHeader + rest)
}

// keys makes n API keys of the fixture's user.
func (p *process) keys(at *fixture, n int) (keys []string, err error) {
	for i := range n {
		body, err := p.send(newRequest("POST", "/v1/api-keys", at.Key, map[string]any{"name": fmt.Sprint("agent ", i)}))
		if err != nil {
			return nil, err
		}
		var made struct{ APIKey string }
		if err := json.Unmarshal(body, &made); err != nil {
			return nil, err
		}
		keys = append(keys, made.APIKey)
	}
	return keys, nil
}

// listen opens a stream, and returns it after its first event.
func (p *process) listen(key string) (*conn, error) {
	w, err := p.dial()
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(agentRequest("GET", "/v1/agent-messages/events", key, nil)); err != nil {
		return nil, err
	}
	return w, waitForLine(w.in, "retry:", "event: ready")
}

// waitForLine reads until a line begins in one of these ways.
func waitForLine(in *bufio.Reader, prefixes ...string) error {
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		for _, p := range prefixes {
			if strings.HasPrefix(text, p) {
				return nil
			}
		}
	}
}

// idleStreams measures the memory of streams without events.
func (b *bench) idleStreams() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	at, p, err := b.serveCopy(from, b.drivers[0], "streams")
	if err != nil {
		return err
	}
	keys, err := p.keys(at, idleStreams/streamsOfAKey)
	if err != nil {
		return err
	}
	floor, err := b.start(nil, b.binary("floor", b.drivers[0]), "hold")
	if err != nil {
		return err
	}
	loci, err := p.memoryOfStreams(func(i int) string { return keys[i%len(keys)] })
	if err != nil {
		return err
	}
	bare, err := floor.memoryOfStreams(func(int) string { return "" })
	if err == nil {
		b.report.add(line{Row: "streams", What: "anonymous memory of an idle stream of 2,000", Unit: "KiB", Loci: loci,
			Floor: bare, Ratio: loci / bare, Threshold: 2})
	}
	return err
}

// memoryOfStreams returns the kibibytes that an idle stream adds to the process.
func (p *process) memoryOfStreams(key func(int) string) (float64, error) {
	p.waitIdle()
	before, err := p.anonymousMemory()
	if err != nil {
		return 0, err
	}
	for i := range idleStreams {
		w, err := p.listen(key(i))
		if err != nil {
			return 0, err
		}
		defer w.Close()
	}
	p.waitIdle()
	time.Sleep(3 * time.Second)
	after, err := p.anonymousMemory()
	return (after - before) / idleStreams / 1024, err
}

// broadcast measures messages to many agents that listen.
func (b *bench) broadcast() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	pair, err := b.startPair(from, b.drivers[0], "fanout")
	if err != nil {
		return err
	}
	keys, err := pair.loci.keys(pair.at, listeners)
	if err != nil {
		return err
	}
	var sides []benchSide
	for name, p := range map[string]*process{"floor": pair.floor, "loci": pair.loci} {
		count, err := p.count(keys)
		if err != nil {
			return err
		}
		sides = append(sides, benchSide{name, func(turn int) (figures, error) {
			before := p.cpu()
			if err := p.sendAll(1, broadcasts, func(i int) request {
				return agentRequest("POST", "/v1/agent-messages", pair.at.Key, map[string]any{"broadcast": true,
					"content": b.corpus.Prose(6_000_000 + turn*broadcasts + i)[:500]})
			}, nil); err != nil {
				return nil, err
			}
			if err := count(broadcasts * listeners); err != nil {
				return nil, err
			}
			return figures{"cpu": (p.waitIdle() - before) / broadcasts / listeners}, nil
		}})
	}
	s, err := b.interleave("broadcast", 1, sides...)
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "broadcast", What: "an event of a broadcast to 98 agents that listen",
			Unit: "us CPU", Threshold: 4}, "loci cpu", "floor cpu"))
	}
	return err
}

// count opens a stream for each key. The function that it returns waits until they have got that many events.
func (p *process) count(keys []string) (wait func(n int) error, err error) {
	events := make(chan error, 1000)
	for _, key := range keys {
		w, err := p.listen(key)
		if err != nil {
			return nil, err
		}
		go func() {
			for {
				err := waitForLine(w.in, "event: message.created")
				if events <- err; err != nil {
					return
				}
			}
		}()
	}
	return func(n int) error {
		for range n {
			select {
			case err := <-events:
				if err != nil {
					return err
				}
			case <-time.After(20 * time.Second):
				return errors.New("an event is missing")
			}
		}
		return nil
	}, nil
}

// agentOf returns the agent of a key.
func (p *process) agentOf(key string) (id, workspace string, err error) {
	body, err := p.send(agentRequest("GET", "/v1/workspaces", key, nil))
	if err != nil {
		return "", "", err
	}
	workspace = firstID(body)
	if body, err = p.send(newRequest("GET", "/v1/api-keys?limit=1", key, nil)); err != nil {
		return "", "", err
	}
	keyID := firstID(body) // the newest
	if body, err = p.send(newRequest("GET", "/v1/agents?workspace_id="+workspace, key, nil)); err != nil {
		return "", "", err
	}
	var list struct{ Agents []loci.Agent }
	err = json.Unmarshal(body, &list)
	for _, a := range list.Agents {
		if string(a.KeyID) == keyID {
			return string(a.ID), workspace, err
		}
	}
	return "", "", errors.Join(err, errors.New("the key has no agent"))
}

// delivery measures how long a message needs to a listener of the same server, and to one of another.
func (b *bench) delivery() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	at, p, err := b.serveCopy(from, b.drivers[0], "delivery")
	if err != nil {
		return err
	}
	if err := b.deliveryTo(p, p, at.Key, "the same server", 2); err != nil || b.postgres == "" {
		return err
	}
	u, err := url.Parse(b.postgres)
	if err != nil {
		return err
	}
	u.Path = "/loci_bench_delivery"
	if err := b.recreateDatabase(u.String()); err != nil {
		return err
	}
	shared := &fixture{DB: u.String(), Keys: map[string]string{}}
	if err := b.createAccounts(shared); err != nil {
		return err
	}
	one, err := b.serve(b.drivers[0], shared, true)
	if err != nil {
		return err
	}
	two, err := b.serve(b.drivers[0], shared, true)
	if err != nil {
		return err
	}
	return b.deliveryTo(one, two, shared.Key, "another server on PostgreSQL", 5)
}

func (b *bench) deliveryTo(from, to *process, key, where string, threshold float64) error {
	keys, err := from.keys(&fixture{Key: key}, 1)
	if err != nil {
		return err
	}
	agent, _, err := from.agentOf(keys[0])
	if err != nil {
		return err
	}
	w, err := to.listen(keys[0])
	if err != nil {
		return err
	}
	defer w.Close()
	sender, err := from.dial()
	if err != nil {
		return err
	}
	defer sender.Close()
	var p99 []float64
	s, err := b.interleave("delivery to "+where, 1, benchSide{"message", func(turn int) (figures, error) {
		var posts, events []float64
		for i := range deliveries {
			next := time.After(deliveryInterval)
			start := time.Now()
			var all sync.WaitGroup
			var arrived, answered time.Duration
			var failed [2]error
			all.Go(func() {
				failed[0] = waitForLine(w.in, "event: message.created")
				arrived = time.Since(start)
			})
			all.Go(func() {
				_, failed[1] = sender.do(agentRequest("POST", "/v1/agent-messages", key, map[string]any{
					"toAgentId": agent, "content": fmt.Sprint("message ", turn, " ", i)}))
				answered = time.Since(start)
			})
			all.Wait()
			if err := errors.Join(failed[:]...); err != nil {
				return nil, err
			}
			posts = append(posts, float64(answered.Microseconds()))
			events = append(events, float64(arrived.Microseconds()))
			<-next
		}
		p99 = append(p99, quantile(events, .99))
		return figures{"post": quantile(posts, .5), "event": quantile(events, .5)}, nil
	}})
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "delivery", What: "from a POST to the event at " + where + ", p50",
			Unit: "us", Threshold: threshold}, "message event", "message post"))
		b.report.add(line{Row: "delivery", What: "the same, p99", Unit: "us", Loci: quantile(p99, .5)})
	}
	return err
}

// sendScale compares messages to agents that have received few and many.
func (b *bench) sendScale() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	var sides []benchSide
	for _, n := range []int{1_000, 100_000} {
		name := fmt.Sprint(n)
		at, p, err := b.serveCopy(from, b.drivers[0], "send-"+name)
		if err != nil {
			return err
		}
		keys, err := p.keys(at, 1)
		if err != nil {
			return err
		}
		agent, _, err := p.agentOf(keys[0])
		if err != nil {
			return err
		}
		p.stop()
		if err := b.fillInbox(at.Dir, agent, n); err != nil {
			return err
		}
		if p, err = b.serve(b.drivers[0], at, true); err != nil {
			return err
		}
		sides = append(sides, benchSide{name, func(turn int) (figures, error) {
			return p.cpuPerRequest(connections, sends, func(i int) request {
				return agentRequest("POST", "/v1/agent-messages", at.Key, map[string]any{"toAgentId": agent,
					"content": b.corpus.Prose(7_000_000 + turn*sends + i)})
			})
		}})
	}
	s, err := b.interleave("send", 1, sides...)
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "send", What: "agent.send to an agent with 100,000 messages, over 1,000",
			Unit: "us CPU", Threshold: 1.4}, "100000 cpu", "1000 cpu"))
	}
	return err
}

// fillInbox gives an agent closed messages of its own, in a database that no process has open.
func (b *bench) fillInbox(dir, agent string, n int) error {
	s, err := store.OpenSQLite(b.ctx, filepath.Clean(dir), store.Options{})
	if err != nil {
		return err
	}
	_, err = sqldb.System(b.ctx, s.DB(), "fill an inbox", func(t *sqldb.Tx) (_ loci.Empty, err error) {
		for _, statement := range []string{`INSERT INTO messages (id, workspace, agent, to_agent, subject, content,
			thread_id, reply_to, created_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
			SELECT 'fill-' || n.i, w.row_id, g.row_id, g.id, '', 'A message that was closed.', 'fill-' || n.i, '', ?3
			FROM n, agents g JOIN workspaces w ON w.personal_of = g.user_id WHERE g.id = ?1`,
			`INSERT INTO receipts (message, agent, workspace, number, status, updated_at) SELECT x.row_id, x.agent,
				x.workspace, CAST(substr(x.id, 6) AS INTEGER), 'closed', ?3 FROM messages x WHERE x.to_agent = ?1 AND ?2 > 0`,
			`UPDATE agents SET last_number = ?2 WHERE id = ?1 AND ?3 > 0`} {
			if _, err = t.Exec(statement, agent, n, t.Now); err != nil {
				break
			}
		}
		return loci.Empty{}, err
	})
	return errors.Join(err, s.Close())
}
