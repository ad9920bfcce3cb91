package message_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A fullInbox is an agent with many messages, and the agents of another member of a team.
type fullInbox struct {
	t            *testing.T
	d            storetest.Database
	st           *store.Store
	s            *service.Service
	crew         loci.ID
	from         *identity.Actor
	full, second *identity.Actor
}

func newFullInbox(t *testing.T, d storetest.Database) fullInbox {
	t.Helper()
	st := d.Open(t, store.Options{})
	x := fullInbox{t: t, d: d, st: st, s: service.New(service.Options{Store: st, Clock: (&Clock{}).Now})}
	ann, bob := storetest.User(t, st, "ann"), storetest.User(t, st, "bob")
	x.crew = storetest.Team(t, st, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
	x.from = storetest.Agent(t, st, ann)
	x.full, x.second = storetest.Agent(t, st, bob), storetest.Agent(t, st, bob)
	return x
}

// fill gives the full agent n open messages, or closed ones, behind the back.
func (x fullInbox) fill(n int, status loci.ReceiptStatus) {
	x.t.Helper()
	x.d.Exec(x.t, fmt.Sprintf(`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < %d)
		INSERT INTO messages (id, workspace, agent, to_agent, subject, content, thread_id, reply_to, created_at)
		SELECT 'filler ' || n.value || ' of ' || g.last_number, w.row_id, g.row_id, '%s', '', '', '', '', g.last_number
		FROM n CROSS JOIN workspaces w CROSS JOIN agents g WHERE w.id = '%s' AND g.id = '%[2]s'`, n, x.full.AgentID,
		x.crew))
	x.d.Exec(x.t, fmt.Sprintf(`INSERT INTO receipts (message, agent, workspace, number, status, updated_at)
		SELECT x.row_id, g.row_id, x.workspace, g.last_number + row_number() OVER (ORDER BY x.row_id), '%s', 1
		FROM messages x JOIN agents g ON g.row_id = x.agent WHERE g.id = '%s' AND x.created_at = g.last_number
		AND x.content = ''`, status, x.full.AgentID))
	x.d.Exec(x.t, fmt.Sprintf(`UPDATE agents SET last_number = last_number + %d WHERE id = '%s'`, n, x.full.AgentID))
}

// send sends a direct message to the full agent.
func (x fullInbox) send() error {
	_, err := x.s.SendMessage(x.t.Context(), x.from, loci.SendMessage{WorkspaceID: x.crew, Content: "one more",
		ToAgentID: x.full.AgentID})
	return err
}

// close closes some messages of the full agent.
func (x fullInbox) close(n int) {
	x.t.Helper()
	for _, m := range testenv.Must(x.s.ListInbox(x.t.Context(), x.full,
		loci.ListInbox{Paging: loci.Paging{Limit: loci.Limit(n)}}))(x.t).Messages {
		testenv.Must(x.s.CloseMessage(x.t.Context(), x.full, loci.GetMessage{MessageID: m.ID}))(x.t)
	}
}

// requireFull fails unless a direct message is refused, and a broadcast skips the agent alone.
func (x fullInbox) requireFull() {
	x.t.Helper()
	Expect(x.t, "a direct message", x.send(), loci.CodeStateConflict)
	out := testenv.Must(x.s.SendMessage(x.t.Context(), x.from, loci.SendMessage{WorkspaceID: x.crew,
		Content: "to all", Broadcast: true}))(x.t)
	if !slices.Equal(out.Recipients, []loci.Recipient{{AgentID: x.second.AgentID}}) ||
		!slices.Equal(out.Skipped, []loci.SkippedRecipient{{AgentID: x.full.AgentID, Reason: loci.SkipInboxFull}}) {
		x.t.Errorf("a broadcast reached %v and skipped %v", out.Recipients, out.Skipped)
	}
}

func TestInboxIsFullAt10000OpenMessages(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newFullInbox(t, d)
		x.fill(1, loci.ReceiptAcknowledged)
		x.fill(100, loci.ReceiptClosed)
		x.fill(9_996, loci.ReceiptUnread) // with the first one 10,097 numbers of which 9,997 are open
		for range 3 {
			Expect(t, "a message to an inbox that is not full", x.send(), "")
		}
		x.requireFull()
		testenv.Equal(t, contents(t, x.s, x.second), "to all", "the other agent received")
		x.close(1)
		Expect(t, "a message after one was closed", x.send(), "")
		x.requireFull()
		newest := testenv.Must(x.s.ListInbox(t.Context(), x.full, loci.ListInbox{}))(t).Messages[0].ID
		testenv.Must(x.s.AcknowledgeMessage(t.Context(), x.full, loci.GetMessage{MessageID: newest}))(t)
		x.requireFull()
	})
}

func TestSendersAtOnceDoNotOverfillInbox(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newFullInbox(t, d)
		x.fill(loci.MaxOpenMessages-3, loci.ReceiptUnread)
		var sent atomic.Int32
		for _, err := range storetest.RunConcurrently(8, func(int) error {
			err := x.send()
			if err == nil {
				sent.Add(1)
			}
			return err
		}) {
			if err != nil {
				Expect(t, "a message to a full inbox", err, loci.CodeStateConflict)
			}
		}
		testenv.Equal(t, sent.Load(), 3, "messages were sent, and 3 had room")
		x.requireFull()
	})
}

// Open messages of other workspaces, also of one that the user has left, take no room.
func TestInboxIsFullInOneWorkspace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newFullInbox(t, d)
		x.fill(loci.MaxOpenMessages, loci.ReceiptUnread)
		x.requireFull()
		left := x.crew
		x.crew = storetest.Team(t, x.st, x.from, map[*identity.Actor]loci.Role{x.full: loci.RoleMember})
		Expect(t, "a message in another workspace", x.send(), "")
		testenv.Must(x.s.LeaveWorkspace(t.Context(), x.full, loci.LeaveWorkspace{WorkspaceID: left}))(t)
		Expect(t, "a message after leaving the workspace", x.send(), "")
		x.fill(loci.MaxOpenMessages-2, loci.ReceiptUnread)
		x.requireFull()
	})
}

// Many recipients that may be full, because of the messages of another workspace, are counted and not skipped.
func TestMessagesElsewhereMakeNoInboxFull(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newFullInbox(t, d)
		storetest.Agents(t, x.st, x.full, 20)
		broadcast := func() loci.SentMessage {
			return testenv.Must(x.s.SendMessage(t.Context(), x.from, loci.SendMessage{WorkspaceID: x.crew,
				Content: "to all", Broadcast: true}))(t)
		}
		broadcast()
		d.Exec(t, `UPDATE agents SET last_number = last_number + 20000`)
		if out := broadcast(); len(out.Recipients) != 22 || len(out.Skipped) != 0 {
			t.Errorf("%d recipients, skipped %v", len(out.Recipients), out.Skipped)
		}
	})
}
