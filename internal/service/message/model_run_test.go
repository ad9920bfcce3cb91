package message_test

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A mailModel runs calls of agents on two servers with one database.
type mailModel struct {
	t       *rapid.T
	random  *rand.Rand
	db      *sql.DB
	stores  [2]*store.Store
	servers [2]*service.Service
	people  []*identity.Actor
	places  [2]loci.ID
	calls   int
	seen    map[string]int // how often each answer came

	mailState
}

// begin makes three people with two agents each, and two workspaces.
func (m *mailModel) begin(t *testing.T) {
	m.mailState = mailState{messages: map[loci.ID]loci.Message{}}
	m.people = nil
	for n := range 3 {
		m.calls++
		m.people = append(m.people, storetest.User(t, m.stores[0], fmt.Sprint("person", m.calls)))
		m.addAgent(t, n)
		m.addAgent(t, n)
	}
	for n := range m.places {
		m.places[n], m.members[n][0] = storetest.Team(t, m.stores[0], m.people[0], nil), true
	}
	m.change(t, mailChange{name: "join", place: 0, person: 1})
	m.change(t, mailChange{name: "join", place: 0, person: 2})
	m.change(t, mailChange{name: "join", place: 1, person: 1})
}

func (m *mailModel) addAgent(t *testing.T, person int) {
	m.agents = append(m.agents,
		mailAgent{storetest.Agent(t, m.stores[m.random.IntN(2)], m.people[person]), person, false})
	m.inboxes = append(m.inboxes, nil)
}

// perform makes a change, and returns its error.
func (m *mailModel) perform(t *testing.T, server int, x mailChange) (err error) {
	s := m.servers[server]
	switch x.name {
	case "leave":
		_, err = s.RemoveMember(t.Context(), m.people[0], loci.RemoveMember{WorkspaceID: m.places[x.place],
			UserID: m.people[x.person].UserID, Confirm: true})
	case "join":
		storetest.Join(t, m.stores[server], m.people[0], m.places[x.place], m.people[x.person], loci.RoleMember)
	case "revoke":
		_, err = s.RevokeKey(t.Context(), m.people[x.person], loci.RevokeKey{KeyID: m.agents[x.agent].CredentialID})
	}
	return err
}

// change makes a change alone.
func (m *mailModel) change(t *testing.T, x mailChange) {
	if err := m.perform(t, m.random.IntN(2), x); err != nil {
		m.t.Fatalf("%+v: %v", x, err)
	}
	if m.apply(x); x.name == "add" {
		m.addAgent(t, x.person)
	}
}

// drawChange returns a change that is possible.
func (m *mailModel) drawChange() mailChange {
	x := mailChange{place: m.random.IntN(2), person: 1 + m.random.IntN(2)}
	switch x.name = Pick(m.random, []string{"member", "member", "member", "revoke", "add"}); x.name {
	case "member":
		if x.name = "join"; m.members[x.place][x.person] {
			x.name = "leave"
		}
	case "revoke":
		x.agent = m.random.IntN(len(m.agents))
		x.person = m.agents[x.agent].person
		left := slices.DeleteFunc(slices.Clone(m.agents), func(a mailAgent) bool { return a.revoked })
		if len(left) < 4 || m.agents[x.agent].revoked {
			x.name, x.person = "add", x.person%3
		}
	}
	return x
}

// draw returns a call of an agent.
func (m *mailModel) draw(agent int) mailCall {
	m.calls++
	c := mailCall{number: m.calls, agent: agent, server: m.random.IntN(2), to: -1, place: m.random.IntN(2),
		name: Pick(m.random, []string{"send", "send", "acknowledge", "close"})}
	if c.name != "send" {
		own := Pick(m.random, m.inboxes[agent]).MessageID
		c.message = cmp.Or(Pick(m.random, []loci.ID{own, own, own, Pick(m.random, m.sent)}),
			"018f0000-0000-7000-8000-000000000000")
		return c
	}
	if m.random.IntN(3) > 0 {
		c.to = m.random.IntN(len(m.agents))
	}
	if len(m.sent) > 0 && m.random.IntN(2) == 0 {
		c.replyTo = Pick(m.random, m.sent)
		if m.random.IntN(4) > 0 { // most replies are possible
			c.replyTo = cmp.Or(Pick(m.random, m.inboxes[agent]).MessageID, c.replyTo)
			c.place = m.placeOf(c.replyTo)
		}
	}
	return c
}

// send runs a call and sets its answer.
func (m *mailModel) send(t *testing.T, c *mailCall) {
	s, who, err := m.servers[c.server], m.agents[c.agent].Actor, error(nil)
	switch c.name {
	case "send":
		in := loci.SendMessage{WorkspaceID: m.places[c.place], Broadcast: c.to < 0, ReplyTo: c.replyTo,
			Subject: loci.Subject(fmt.Sprint("subject ", c.number)),
			Content: loci.MessageText(fmt.Sprint("content ", c.number))}
		if c.to >= 0 {
			in.ToAgentID = m.agents[c.to].AgentID
		}
		c.sent, err = s.SendMessage(t.Context(), who, in)
	default:
		move := s.AcknowledgeMessage
		if c.name == "close" {
			move = s.CloseMessage
		}
		var out loci.OneReceipt
		out, err = move(t.Context(), who, loci.GetMessage{MessageID: c.message})
		c.moved = out.Receipt
	}
	if err != nil {
		c.answer = loci.AsError(err).Code
	}
}

// step runs some calls at once, sometimes beside a change, and compares answers and inboxes with the state.
func (m *mailModel) step(t *testing.T) {
	during := mailChange{}
	if m.random.IntN(3) == 0 {
		if during = m.drawChange(); during.name == "add" || m.random.IntN(2) == 0 {
			m.change(t, during)
			during = mailChange{}
		}
	}
	var calls [][]mailCall
	for n, a := range m.agents {
		clients := 1 + m.random.IntN(4)/3 // an agent may have two
		if a.revoked || during.name != "" && during.person == a.person {
			clients = 0 // the gate refuses the revoked, and what the others may do is undecided
		}
		for range clients {
			var list []mailCall
			for range m.random.IntN(3) {
				list = append(list, m.draw(n))
			}
			calls = append(calls, list)
		}
	}
	errs := storetest.RunConcurrently(len(calls)+1, func(n int) error {
		if n == len(calls) {
			return m.perform(t, 0, during)
		}
		for i := range calls[n] {
			m.send(t, &calls[n][i])
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		m.t.Fatalf("%+v: %v", during, err)
	}
	m.checkRound(t, calls, during)
}

// checkRound checks the answers of calls, and changes the state by them.
func (m *mailModel) checkRound(t *testing.T, calls [][]mailCall, during mailChange) {
	closed := map[string]bool{} // in this round
	for _, c := range slices.Concat(calls...) {
		if c.name == "close" && c.answer == "" {
			closed[fmt.Sprint(c.agent, c.message)] = true
		}
	}
	arrived := make([][]loci.ID, len(m.agents)) // new messages of each agent
	var sent [][]loci.ID                        // of each client, in order
	messages := map[loci.ID]loci.Message{}      // replies name those of earlier rounds alone
	var moves []mailCall
	for _, list := range calls {
		var own []loci.ID
		for _, c := range list {
			allowed := m.answers(&c, during)
			if !slices.Contains(allowed, c.answer) || c.name == "acknowledge" && len(allowed) == 2 &&
				c.answer != "" && !closed[fmt.Sprint(c.agent, c.message)] {
				m.t.Fatalf("%v, want one of %q during %+v\n%v", c, allowed, during, calls)
			}
			m.seen[fmt.Sprint(c.name, " ", c.answer)]++
			switch {
			case c.answer != "":
			case c.name != "send":
				moves = append(moves, c)
			default:
				m.checkSent(&c, during)
				own, messages[c.sent.Message.ID] = append(own, c.sent.Message.ID), c.sent.Message
				for _, r := range c.sent.Recipients {
					n := m.number(r.AgentID)
					arrived[n] = append(arrived[n], c.sent.Message.ID)
				}
			}
		}
		sent = append(sent, own)
	}
	for _, c := range moves {
		r := m.receipt(c.agent, c.message)
		if wanted := map[string]loci.ReceiptStatus{"acknowledge": loci.ReceiptAcknowledged,
			"close": loci.ReceiptClosed}[c.name]; c.moved.Status != wanted || c.moved.MessageID != c.message {
			m.t.Fatalf("%v answers %+v", c, c.moved)
		}
		if r.Status != loci.ReceiptClosed {
			r.Status = loci.ReceiptAcknowledged
		}
		if closed[fmt.Sprint(c.agent, c.message)] {
			r.Status = loci.ReceiptClosed
		}
	}
	m.apply(during)
	maps.Copy(m.messages, messages)
	m.sent = slices.Concat(m.sent, slices.Concat(sent...))
	for n := range m.agents {
		m.observe(t, n, arrived[n], sent)
		m.read(t, n)
	}
}

// observe compares the receipts of an agent in the database with the state, and learns the order of the new ones.
func (m *mailModel) observe(t *testing.T, agent int, arrived []loci.ID, sent [][]loci.ID) {
	rows := testenv.Must(m.db.QueryContext(t.Context(), `SELECT x.id, r.status, r.number, g.last_number FROM receipts r
		JOIN messages x ON x.row_id = r.message JOIN agents g ON g.row_id = r.agent WHERE g.id = $1 ORDER BY r.number`,
		string(m.agents[agent].AgentID)))(m.t)
	defer rows.Close()
	var list []loci.Receipt
	last := 0
	for rows.Next() {
		var r loci.Receipt
		var number int
		testenv.NoError(m.t, rows.Scan(&r.MessageID, &r.Status, &number, &last))
		if list = append(list, r); number != len(list) { // a call that fails takes no number
			m.t.Fatalf("agent %d: the message %d has the number %d", agent, len(list), number)
		}
	}
	known := len(m.inboxes[agent])
	if last != len(list) || len(list) != known+len(arrived) {
		m.t.Fatalf("agent %d has %d receipts and the last number %d, want %d and %d new ones", agent, len(list), last,
			known, len(arrived))
	}
	place := map[loci.ID]int{}
	for i, r := range list {
		if place[r.MessageID] = i; i < known && r != (loci.Receipt{MessageID: m.inboxes[agent][i].MessageID,
			Status: m.inboxes[agent][i].Status}) || i >= known && (r.Status != loci.ReceiptUnread ||
			!slices.Contains(arrived, r.MessageID)) {
			m.t.Fatalf("agent %d has at %d %+v, not as in %+v and %v", agent, i, r, m.inboxes[agent], arrived)
		}
	}
	for _, own := range sent {
		own = slices.DeleteFunc(slices.Clone(own), func(id loci.ID) bool { return !slices.Contains(arrived, id) })
		if !slices.IsSortedFunc(own, func(a, b loci.ID) int { return place[a] - place[b] }) {
			m.t.Fatalf("agent %d received %v of one client in another order: %+v", agent, own, list)
		}
	}
	m.inboxes[agent] = list
}

// read reads the inbox of an agent in pages, and compares it with the state: each message in reach is in it once,
// newest first.
func (m *mailModel) read(t *testing.T, agent int) {
	if m.agents[agent].revoked {
		return
	}
	in := loci.ListInbox{Status: Pick(m.random, []loci.ReceiptStatus{"", "", loci.ReceiptUnread,
		loci.ReceiptAcknowledged, loci.ReceiptClosed}), Paging: loci.Paging{Limit: loci.Limit(1 + m.random.IntN(5))}}
	place := m.random.IntN(4)
	if place < 2 {
		in.WorkspaceID = m.places[place]
	}
	var want, got []loci.InboxMessage
	for _, r := range slices.Backward(m.inboxes[agent]) {
		at := m.placeOf(r.MessageID)
		if m.isMember(agent, at) && (place > 1 || at == place) && (r.Status == in.Status ||
			in.Status == "" && r.Status != loci.ReceiptClosed) {
			want = append(want, loci.InboxMessage{Message: m.messages[r.MessageID], Receipt: r})
		}
	}
	for {
		page, err := m.servers[m.random.IntN(2)].ListInbox(t.Context(), m.agents[agent].Actor, in)
		if place < 2 && !m.isMember(agent, place) {
			if !loci.Is(err, loci.CodeNotFound) {
				m.t.Fatalf("agent %d reads a workspace of others: %v", agent, err)
			}
			return
		}
		if err != nil || len(page.Messages) > int(in.Limit) {
			m.t.Fatalf("agent %d, %+v: %d messages, %v", agent, in, len(page.Messages), err)
		}
		for _, x := range page.Messages {
			x.Receipt.UpdatedAt = 0
			got = append(got, x)
		}
		if in.Cursor = loci.Cursor(page.NextCursor); in.Cursor == "" || len(got) > len(want) {
			break
		}
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("agent %d reads with %+v\n%+v\nwant\n%+v", agent, in, got, want)
	}
}

// TestMessagesMatchModel runs calls of agents at once on two servers, beside members that leave and come back and keys
// that are revoked.
func TestMessagesMatchModel(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &mailModel{db: d.DB(t), seen: map[string]int{}}
		for n := range m.servers {
			m.stores[n] = d.Open(t, store.Options{})
			m.servers[n] = service.New(service.Options{Store: m.stores[n], Clock: (&Clock{}).Now})
		}
		d.Check(t, func(rt *rapid.T) {
			m.t = rt
			m.random = rand.New(rand.NewPCG(1, rapid.Uint64().Draw(rt, "seed")))
			m.begin(t)
			for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
				m.step(t)
			}
		})
		storetest.CheckHealthy(t, m.stores[0])
		for _, answer := range []string{"send ", "send not_found", "send state_conflict", "send invalid_query",
			"acknowledge ", "acknowledge not_found", "acknowledge state_conflict", "close ", "close not_found"} {
			if m.seen[answer] == 0 && d.Dir != "" && !testing.Short() { // few cases have not each answer
				t.Errorf("no call was answered with %q: %v", answer, m.seen)
			}
		}
		t.Log(m.seen)
	})
}
