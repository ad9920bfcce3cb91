package message_test

import (
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
)

// A mailState is the agents of three people, and their messages in two workspaces, by the rules of the contract.
type mailState struct {
	agents   []mailAgent
	members  [2][3]bool // by workspace and person; person 0 owns both
	messages map[loci.ID]loci.Message
	sent     []loci.ID        // the ids of the messages
	inboxes  [][]loci.Receipt // by agent, oldest first
}

// A mailAgent is an agent of a person.
type mailAgent struct {
	*identity.Actor
	person  int
	revoked bool
}

// A mailCall is a call by an agent on one of two servers.
type mailCall struct {
	number, agent, server int

	name    string  // send, acknowledge or close
	place   int     // of send: the workspace
	to      int     // of send: an agent, or -1 for a broadcast
	replyTo loci.ID // of send
	message loci.ID // of the others

	answer loci.Code
	sent   loci.SentMessage
	moved  loci.Receipt
}

func (c mailCall) String() string {
	return fmt.Sprintf("#%d: agent %d: %s place=%d to=%d replyTo=%s message=%s: %q %v", c.number, c.agent, c.name,
		c.place, c.to, c.replyTo, c.message, c.answer, c.sent.Recipients)
}

// A mailChange is a change of one person during calls of others. Agents that it concerns may receive a message or not.
type mailChange struct {
	name          string // leave, join, revoke or add
	place, person int
	agent         int // of revoke
}

// concerns reports whether a change can decide whether an agent receives a message in a workspace.
func (x mailChange) concerns(s *mailState, agent, place int) bool {
	if x.name == "revoke" {
		return x.agent == agent
	}
	return x.name != "" && x.name != "add" && x.place == place && s.agents[agent].person == x.person
}

func (s *mailState) number(id loci.ID) int {
	return slices.IndexFunc(s.agents, func(a mailAgent) bool { return a.AgentID == id })
}

func (s *mailState) isMember(agent, place int) bool { return s.members[place][s.agents[agent].person] }

// receipt returns the receipt of an agent, or nil.
func (s *mailState) receipt(agent int, message loci.ID) *loci.Receipt {
	i := slices.IndexFunc(s.inboxes[agent], func(r loci.Receipt) bool { return r.MessageID == message })
	if i < 0 {
		return nil
	}
	return &s.inboxes[agent][i]
}

// placeOf returns the number of the workspace of a message.
func (m *mailModel) placeOf(message loci.ID) int {
	return slices.Index(m.places[:], m.messages[message].WorkspaceID)
}

// sees reports whether an agent sent or received a message of a workspace that its owner belongs to.
func (m *mailModel) sees(agent int, message loci.ID) bool {
	x, ok := m.messages[message]
	return ok && m.isMember(agent, m.placeOf(message)) &&
		(x.From.AgentID == m.agents[agent].AgentID || m.receipt(agent, message) != nil)
}

// answers returns the codes with which a call may be answered during a change, "" for success.
func (m *mailModel) answers(c *mailCall, during mailChange) []loci.Code {
	if c.name != "send" {
		return m.moveAnswers(c)
	}
	switch {
	case !m.isMember(c.agent, c.place), c.replyTo != "" && !m.sees(c.agent, c.replyTo):
		return []loci.Code{loci.CodeNotFound}
	case c.replyTo != "" && m.placeOf(c.replyTo) != c.place:
		return []loci.Code{loci.CodeInvalidQuery}
	case c.to < 0:
		return []loci.Code{""}
	case during.concerns(&m.mailState, c.to, c.place):
		return []loci.Code{"", loci.CodeNotFound, loci.CodeStateConflict}
	case !m.isMember(c.to, c.place):
		return []loci.Code{loci.CodeNotFound}
	case m.agents[c.to].revoked:
		return []loci.Code{loci.CodeStateConflict}
	}
	return []loci.Code{""}
}

// moveAnswers returns the codes of acknowledge and close. Two clients of an agent may move a receipt at once.
func (m *mailModel) moveAnswers(c *mailCall) []loci.Code {
	r := m.receipt(c.agent, c.message)
	switch {
	case r == nil || !m.sees(c.agent, c.message):
		return []loci.Code{loci.CodeNotFound}
	case c.name == "close":
		return []loci.Code{""}
	case r.Status == loci.ReceiptClosed:
		return []loci.Code{loci.CodeStateConflict}
	}
	return []loci.Code{"", loci.CodeStateConflict}
}

// recipients returns the agents that receive a message.
func (m *mailModel) recipients(c *mailCall) (list []int) {
	if c.to >= 0 {
		return []int{c.to}
	}
	for n, a := range m.agents {
		if n != c.agent && !a.revoked && m.isMember(n, c.place) {
			list = append(list, n)
		}
	}
	return list
}

// checkSent compares the answer to a sent message with the call and the recipients.
func (m *mailModel) checkSent(c *mailCall, during mailChange) {
	x, want := c.sent.Message, loci.Message{ID: c.sent.Message.ID, WorkspaceID: m.places[c.place],
		From:    loci.MessageSender{AgentID: m.agents[c.agent].AgentID, Name: "laptop"},
		Subject: fmt.Sprint("subject ", c.number), Content: fmt.Sprint("content ", c.number), Broadcast: c.to < 0,
		ThreadID: c.sent.Message.ID, ReplyTo: c.replyTo, CreatedAt: c.sent.Message.CreatedAt}
	if c.to >= 0 {
		want.To = m.agents[c.to].AgentID
	}
	if c.replyTo != "" {
		want.ThreadID = m.messages[c.replyTo].ThreadID
	}
	if x != want || !x.ID.Valid() || x.CreatedAt == 0 || len(c.sent.Skipped) != 0 {
		m.t.Fatalf("%v answers %+v, want %+v", c, c.sent, want)
	}
	var got []int
	for _, r := range c.sent.Recipients {
		got = append(got, m.number(r.AgentID))
	}
	certain := func(list []int) []int {
		return slices.DeleteFunc(slices.Sorted(slices.Values(list)), func(n int) bool {
			return during.concerns(&m.mailState, n, c.place)
		})
	}
	if slices.Contains(got, -1) || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) ||
		!slices.Equal(certain(got), certain(m.recipients(c))) {
		m.t.Fatalf("%v reached the agents %v, want %v during %+v", c, got, m.recipients(c), during)
	}
}

// apply changes the state by a change of a person.
func (s *mailState) apply(x mailChange) {
	switch x.name {
	case "leave":
		s.members[x.place][x.person] = false
	case "join":
		s.members[x.place][x.person] = true
	case "revoke":
		s.agents[x.agent].revoked = true
	}
}
