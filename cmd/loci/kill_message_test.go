package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// TestKillKeepsMessages kills the server repeatedly while 16 agents send direct messages and broadcasts, as often as
// rounds says. An acknowledged message is in the inbox of each recipient once, and a call that is repeated with its
// Idempotency-Key sends nothing twice.
func TestKillKeepsMessages(t *testing.T) {
	t.Parallel()
	bin := testenv.Program(t)
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		k := &messageKiller{testServer: newTestServer(t, bin, storeFlags(t, d)...), d: d}
		k.start(t)
		k.makeAgents(t)
		for round := range rounds(t, 10) {
			k.sendUntilKilled(t, round, time.Duration(50+rand.IntN(450))*time.Millisecond)
			k.start(t)
			k.repeatKeyed(t)
			k.verifyInboxes(t)
			k.verifyNumbers(t)
			if t.Failed() {
				t.FailNow()
			}
			d.Write(t, `UPDATE receipts SET status = 'closed'`) // so that no inbox becomes full
		}
		k.kill()
		k.admin(t, "check")
		t.Logf("%d messages were acknowledged, %d were not, %d of these had been sent", k.acknowledged, k.unsure,
			k.known)
	})
}

// A messageKiller is a server that gets killed while agents send messages.
type messageKiller struct {
	*testServer
	d      storetest.Database
	agents []mailingAgent

	acknowledged, unsure, known int
}

// A mailingAgent is an agent with the messages that it sent in a round.
type mailingAgent struct {
	caller http.Header
	id     loci.ID
	sent   []sentMessage
}

// A sentMessage is a message that was sent; id is empty where no answer came.
type sentMessage struct {
	content, key string
	to           loci.ID // empty for a broadcast
	id           loci.ID
}

// makeAgents makes 16 keys with their agents.
func (k *messageKiller) makeAgents(t *testing.T) {
	t.Helper()
	for range 16 {
		var made loci.CreatedKey
		_ = testenv.Must(k.testServer.call("POST", "/v1/api-keys", "", map[string]any{}, &made))(t)
		a := mailingAgent{caller: http.Header{"Authorization": {"Bearer " + made.APIKey}, "X-Loci-Actor": {"agent"}}}
		var out loci.SentMessage
		_ = testenv.Must(k.callAs(a.caller, "POST", "/v1/agent-messages", "", map[string]any{"broadcast": true,
			"content": "hello"}, &out))(t)
		a.id = out.Message.From.AgentID
		k.agents = append(k.agents, a)
	}
	k.d.Write(t, `UPDATE receipts SET status = 'closed'`)
}

// sendUntilKilled sends messages of all agents at once until the server is killed after a delay.
func (k *messageKiller) sendUntilKilled(t *testing.T, round int, after time.Duration) {
	k.runUntilKilled(len(k.agents), after, func(i int) {
		a := &k.agents[i]
		a.sent = nil
		for n := 0; n < 500; n++ { // of 16 agents at most 8,000 reach one
			m := sentMessage{content: fmt.Sprintf("%04d of agent %d in round %d", n, i, round)}
			if n%8 > 0 {
				m.to = k.agents[rand.IntN(len(k.agents))].id
			}
			if n%3 == 0 {
				m.key = m.content
			}
			id, status, err := k.send(a, m)
			if err != nil && status != 0 {
				t.Error(err)
			}
			m.id = id
			if a.sent = append(a.sent, m); err != nil {
				return
			}
		}
	})
}

func (k *messageKiller) send(a *mailingAgent, m sentMessage) (id loci.ID, status int, err error) {
	in := map[string]any{"content": m.content}
	if in["toAgentId"] = m.to; m.to == "" {
		delete(in, "toAgentId")
		in["broadcast"] = true
	}
	var out loci.SentMessage
	status, err = k.callAs(a.caller, "POST", "/v1/agent-messages", m.key, in, &out)
	reached := 1
	if m.to == "" {
		reached = len(k.agents) - 1
	}
	if err == nil && (status != http.StatusCreated || len(out.Recipients) != reached || len(out.Skipped) > 0) {
		err = fmt.Errorf("%q: %d: %+v", m.content, status, out)
	}
	return out.Message.ID, status, err
}

// repeatKeyed repeats the calls with a key. An acknowledged one gets the same answer, another is sent now or known.
func (k *messageKiller) repeatKeyed(t *testing.T) {
	t.Helper()
	for i := range k.agents {
		for n, m := range k.agents[i].sent {
			if m.key == "" {
				continue
			}
			id, _, err := k.send(&k.agents[i], m)
			if err != nil || m.id != "" && m.id != id {
				t.Errorf("%q again: %s after %s, %v", m.content, id, m.id, err)
			}
			k.agents[i].sent[n].id = id
		}
	}
}

// verifyInboxes compares the inbox of each agent with what was sent to it, in the order of each sender.
func (k *messageKiller) verifyInboxes(t *testing.T) {
	t.Helper()
	known := map[string]bool{}
	for i, a := range k.agents {
		have := map[loci.ID][]string{} // by sender, oldest first
		for _, m := range k.inbox(t, a) {
			if slices.Contains(have[m.From.AgentID], m.Content) {
				t.Errorf("agent %d has %q twice", i, m.Content)
			}
			have[m.From.AgentID] = append([]string{m.Content}, have[m.From.AgentID]...)
			known[m.Content] = true
		}
		for _, from := range k.agents {
			var want []string
			got := have[from.id]
			for _, m := range from.sent {
				toIt := m.to == a.id || m.to == "" && from.id != a.id
				if toIt && (m.id != "" || slices.Contains(got, m.content)) { // one without an answer may be there
					want = append(want, m.content)
				}
			}
			testenv.EqualSlices(t, got, want, "of", from.id, "at", a.id)
		}
	}
	for _, a := range k.agents {
		for _, m := range a.sent {
			switch {
			case m.id != "":
				k.acknowledged++
			case known[m.content]:
				k.known++
				fallthrough
			default:
				k.unsure++
			}
		}
	}
}

// inbox returns the messages of an agent that are not closed.
func (k *messageKiller) inbox(t *testing.T, a mailingAgent) (list []loci.InboxMessage) {
	t.Helper()
	for query := "?limit=100"; ; {
		var page loci.Inbox
		_ = testenv.Must(k.callAs(a.caller, "GET", "/v1/agent-messages/inbox"+query, "", nil, &page))(t)
		if list = append(list, page.Messages...); page.NextCursor == "" {
			return list
		}
		query = "?limit=100&cursor=" + page.NextCursor
	}
}

// verifyNumbers fails unless the numbers of each agent count its messages: a call that the kill ended takes none. A
// broadcast without an answer has reached all or none.
func (k *messageKiller) verifyNumbers(t *testing.T) {
	t.Helper()
	if list := k.d.Query(t, `SELECT g.id FROM agents g WHERE g.last_number <> (SELECT count(*) FROM receipts r
		WHERE r.agent = g.row_id) OR g.last_number <> (SELECT COALESCE(max(r.number), 0) FROM receipts r
		WHERE r.agent = g.row_id)`); len(list) > 0 {
		t.Errorf("the numbers of the agents %v have gaps", list)
	}
	if list := k.d.Query(t, fmt.Sprintf(`SELECT x.content FROM messages x WHERE x.content <> 'hello' AND
		(SELECT count(*) FROM receipts r WHERE r.message = x.row_id) <> CASE WHEN x.to_agent = '' THEN %d ELSE 1 END`,
		len(k.agents)-1)); len(list) > 0 {
		t.Errorf("%q have other recipients", list)
	}
	if list := k.d.Query(t, `SELECT x.content FROM messages x WHERE x.content <> 'hello' GROUP BY x.content
		HAVING count(*) > 1`); len(list) > 0 {
		t.Errorf("%q were sent twice", list)
	}
}
