package integrity_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A departure has a team of ann and bob, whose member gone leaves the server, and messages of all.
type departure struct {
	*mailTest
	gone *identity.Actor
	his  *identity.Actor // an agent of gone
}

// newDeparture returns a departure with the texts of two messages of gone to the team.
func newDeparture(t *testing.T, d storetest.Database, s *store.Store, direct, broadcast string) departure {
	t.Helper()
	x := departure{mailTest: newMailTest(t, d, s, ""), gone: user(t, s, "gone")}
	storetest.Join(t, s, x.ann, x.crew, x.gone, loci.RoleMember)
	x.his = storetest.Agent(t, s, x.gone)
	first := x.send(withEncryptionKey(x.his, "first"), loci.SendMessage{ToAgentID: x.to.AgentID,
		Content: loci.MessageText(direct)})
	x.send(x.his, loci.SendMessage{Broadcast: true, Content: loci.MessageText(broadcast)})
	x.send(x.to, loci.SendMessage{ToAgentID: x.his.AgentID, Content: "To him", ReplyTo: first})
	x.send(x.to, loci.SendMessage{Broadcast: true, Content: "To him and ann"})
	testenv.Must(newService(s).SendMessage(ctx, x.his,
		loci.SendMessage{Broadcast: true, Subject: "Of umbrosial", Content: "dibbernacks to himself"}))(t)
	return x
}

// requireLeft fails unless the messages of the team are left, and of the agents of gone the one that has sent some.
func (x departure) requireLeft(t *testing.T) {
	t.Helper()
	const his = "To bob unread, "
	if got, want := x.inbox(x.to), "From gone unread, "+his+wholeInbox; got != want {
		t.Errorf("the inbox of bob is %q, want %q", got, want)
	}
	testenv.Equal(t, x.inbox(x.from), "To him and ann unread, From gone unread, How long? unread",
		"the inbox of ann is")
	for _, m := range testenv.Must(newService(x.s).ListInbox(ctx, x.to, loci.ListInbox{}))(t).Messages {
		if isHis := strings.HasSuffix(m.Content, "gone") || m.Content == "To bob"; isHis != (m.From.AgentID ==
			x.his.AgentID) || m.From.Name == "" {
			t.Errorf("%q is from %+v", m.Content, m.From)
		}
	}
	for q, want := range map[string]string{
		`SELECT id FROM agents WHERE user_id IS NULL AND key_id IS NULL`: string(x.his.AgentID),
		`SELECT CAST(count(*) AS TEXT) FROM agents`:                      "3",
		`SELECT x.content FROM messages x JOIN receipts r ON r.message = x.row_id JOIN agents g ON g.row_id = r.agent
			WHERE g.user_id IS NULL`: "",
		`SELECT content FROM messages WHERE content LIKE 'dibbernacks%'`: "",
	} {
		testenv.Equal(t, strings.Join(x.d.Query(t, q), ", "), want, q)
	}
	checkHealthy(t, x.s)
}

func TestPurgedUserLeavesNoByteOfPersonalMessages(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		x := newDeparture(t, d, server, "To bob", "From gone")
		storetest.Agents(t, server, x.gone, 3)
		requireTraces(t, d, "mbrosial", "ibbernack")
		would := testenv.Must(purge.New(operator).PurgeUser(ctx, "gone@example.com", false))(t)
		did, err := purge.New(operator).PurgeUser(ctx, "gone@example.com", true)
		if err != nil || did != would || did.Messages != 1 || did.Responses != 1 ||
			!strings.Contains(did.String(), "1 message between agents") {
			t.Errorf("purged %+v, of %+v, %v", did, would, err)
		}
		x.requireLeft(t)
	})
}

func TestPurgedMemoryLeavesNoByteInMessages(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		x := newMailTest(t, d, server, "")
		m := testenv.Must(newService(server).CreateMemory(ctx, x.ann, loci.CreateMemory{WorkspaceID: x.crew,
			Content: "The lummoxites are umbrosial"}))(t).Memory
		changed := loci.Content("The dibbernacks are behind the shed")
		testenv.Must(newService(server).UpdateMemory(ctx, x.ann, loci.UpdateMemory{MemoryID: m.ID,
			Content: &changed}))(t)
		for _, in := range []loci.SendMessage{
			{Subject: "Of the shed", Content: "Known since Monday: The lummoxites are umbrosial. Is it true?"},
			{Subject: "FYI The dibbernacks are behind the shed", Content: "See above"},
			{Subject: "Kept", Content: "Where are they?"},
		} {
			in.ToAgentID = x.to.AgentID
			x.send(x.from, in)
		}
		for range 250 { // behind the first window
			x.send(x.to, loci.SendMessage{Broadcast: true, Content: "Nothing new"})
		}
		last := x.send(x.from, loci.SendMessage{ToAgentID: x.to.AgentID,
			Content: "The dibbernacks are behind the shed"})
		requireTraces(t, d, "mbrosial", "lummoxite", "ibbernack")
		would, err := purge.New(operator).PurgeMemory(ctx, m.ID, false)
		if err != nil || would.Messages != 3 {
			t.Errorf("would purge %+v, %v", would, err)
		}
		did, err := purge.New(operator).PurgeMemory(ctx, m.ID, true)
		if err != nil || did != would {
			t.Errorf("purged %+v, of %+v, %v", did, would, err)
		}
		if got, want := x.inbox(x.to), "(purged) unread, Where are they? unread, (purged) unread, (purged) unread, "+
			wholeInbox; got != want {
			t.Errorf("the inbox is %q, want %q", got, want)
		}
		testenv.Must(newService(server).CloseMessage(ctx, x.to, loci.GetMessage{MessageID: last}))(t)
		checkHealthy(t, server)
	})
}

func TestPurgedWorkspaceLeavesNoByteOfMessages(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		x := newDeparture(t, d, server, "lummoxites and Snickerdoodles", "Whirlimagigs to all")
		elsewhere := testenv.Must(newService(server).SendMessage(ctx, x.to, loci.SendMessage{WorkspaceID: team(t,
			server, x.bob,
			nil), Broadcast: true, Content: "elsewhere"}))(t).Message.ID
		testenv.Must(newService(server).LeaveWorkspace(ctx, x.gone, loci.LeaveWorkspace{WorkspaceID: x.crew}))(t)
		requireTraces(t, d, "mbrosial", "lummoxite", "ickerdoodle", "irlimagig", "ibbernack")
		did, err := purge.New(operator).PurgeWorkspace(ctx, x.crew, true)
		if err != nil || did.Messages != 8 || did.Responses != 1 {
			t.Errorf("purged %+v, %v", did, err)
		}
		d.Exec(t, `DELETE FROM messages WHERE content LIKE 'dibbernacks%'`) // it is in the workspace of gone
		testenv.Must(purge.New(operator).PurgeDeleted(ctx, true))(t)
		testenv.EqualSlices(t, d.Query(t, `SELECT id FROM messages`), []string{string(elsewhere)}, "the messages",
			"are left")
		testenv.Len(t, d.Query(t, `SELECT CAST(row_id AS TEXT) FROM receipts`), 0, "receipts are left")
		checkHealthy(t, server)
	})
}

// Messages that a deleted account sent in teams of others stay. Those that its agents received go in parts.
func TestDeletedAccountLeavesItsMessagesToTeams(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var counting countingDB
		var later atomic.Int64
		s := d.Open(t, store.Options{Intercept: storetest.Intercept(&counting, &counting.DB),
			Clock: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
		x := newDeparture(t, d, s, "To bob", "From gone")
		silent := storetest.Agents(t, s, x.gone, 1100)
		x.addMessages(t, x.from, silent[0], 1100)
		testenv.Must(store.System(ctx, s, "test", func(u *store.SystemTx) (loci.User, error) {
			return u.DeleteUser("gone@example.com", false)
		}))(t)
		checkHealthy(t, s)
		if out := testenv.Must(newService(s).SendMessage(ctx, x.from, loci.SendMessage{WorkspaceID: x.crew,
			Broadcast: true,
			Content:   "after it"}))(t); len(out.Recipients) != 1 || len(out.Skipped) != 0 {
			t.Errorf("a broadcast reached %v and skipped %v", out.Recipients, out.Skipped)
		}
		_, err := newService(s).SendMessage(ctx, x.from, loci.SendMessage{WorkspaceID: x.crew, ToAgentID: x.his.AgentID,
			Content: "after it"})
		if !loci.Is(err, loci.CodeNotFound) {
			t.Errorf("a message to a deleted user: %v", err)
		}
		testenv.Must(newService(s).CloseMessage(ctx, x.to,
			loci.GetMessage{MessageID: testenv.Must(newService(s).ListInbox(ctx, x.to,
				loci.ListInbox{}))(t).Messages[0].ID}))(t)
		testenv.NoError(t, s.Eraser().EraseAll(ctx))
		counting.requireParts(t, 6, func() error { return messagedb.DeleteClosed(ctx, s.DB()) })
		x.requireLeft(t)
		for _, agent := range []*identity.Actor{x.from, x.to} {
			for _, m := range testenv.Must(newService(s).ListInbox(ctx, agent, loci.ListInbox{}))(t).Messages {
				testenv.Must(newService(s).CloseMessage(ctx, agent, loci.GetMessage{MessageID: m.ID}))(t)
			}
		}
		later.Store(int64(91 * 24 * time.Hour))
		testenv.NoError(t, messagedb.DeleteClosed(ctx, s.DB()))
		if got := d.Query(t, `SELECT id FROM agents WHERE user_id IS NULL`); len(got) > 0 {
			t.Errorf("agents of deleted users without messages are left: %v", got)
		}
		checkHealthy(t, s)
	})
}

// addMessages inserts messages of a sender behind the back, each with a receipt of a recipient, which has none before.
func (x *mailTest) addMessages(t *testing.T, from, to *identity.Actor, n int) {
	t.Helper()
	row := func(agent *identity.Actor) string {
		return `(SELECT g.row_id FROM agents g WHERE g.id = '` + string(agent.AgentID) + `')`
	}
	id := fmt.Sprintf(`'%s' || substr(CAST(1000000 + n.value AS TEXT), 2)`, loci.NewID(time.Now())[:30])
	x.d.Exec(t, fmt.Sprintf(`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < %d)
		INSERT INTO messages (id, workspace, agent, to_agent, subject, content, thread_id, reply_to, created_at)
		SELECT %s, w.row_id, %s, '%s', '', 'one of many', %s, '', %d FROM n CROSS JOIN workspaces w
		WHERE w.id = '%s'`, n, id, row(from), to.AgentID, id, x.s.Now(), x.crew))
	x.d.Exec(t, `INSERT INTO receipts (message, agent, workspace, number, status, updated_at) SELECT x.row_id, `+row(to)+`,
		x.workspace, x.row_id, 'unread', x.created_at FROM messages x WHERE x.content = 'one of many' AND x.to_agent = '`+string(to.AgentID)+`'`)
	x.d.Exec(t, `UPDATE agents SET last_number = (SELECT max(r.number) FROM receipts r WHERE r.agent = agents.row_id)
		WHERE id = '`+string(to.AgentID)+`'`)
	x.d.ComputeChecksums(t)
}

// A countingDB counts the write transactions.
type countingDB struct {
	sqldb.DB
	writes atomic.Int32
}

func (c *countingDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	c.writes.Add(1)
	return c.DB.Write(ctx, user, f)
}

// requireParts fails unless f runs some write transactions.
func (c *countingDB) requireParts(t *testing.T, least int32, f func() error) {
	t.Helper()
	before := c.writes.Load()
	testenv.NoError(t, f())
	if n := c.writes.Load() - before; n < least {
		t.Errorf("%d transactions, want at least %d", n, least)
	}
}

func TestDeletedWorkspaceLosesItsMessagesInParts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var counting countingDB
		s := d.Open(t, store.Options{Intercept: storetest.Intercept(&counting, &counting.DB)})
		x := newMailTest(t, d, s, "")
		kept := testenv.Must(newService(s).SendMessage(ctx, x.from, loci.SendMessage{ToAgentID: x.from.AgentID,
			Content: "to himself"}))(t).Message.ID
		x.addMessages(t, x.from, storetest.Agent(t, s, x.bob), 1500)
		storetest.Agents(t, s, x.bob, 1500)
		checkHealthy(t, s)
		sent := x.send(withEncryptionKey(x.from, "last"), loci.SendMessage{Broadcast: true, Content: "last"})
		counting.writes.Store(0)
		testenv.Must(newService(s).DeleteWorkspace(ctx, x.ann, loci.DeleteWorkspace{WorkspaceID: x.crew}))(t)
		for _, agent := range []*identity.Actor{x.from, x.to} {
			_, err := newService(s).CloseMessage(ctx, agent, loci.GetMessage{MessageID: sent})
			if got := x.inbox(agent); strings.Contains(got, "last") || !loci.Is(err, loci.CodeNotFound) {
				t.Errorf("after the deletion the inbox is %q, and a message can be closed: %v", got, err)
			}
		}
		checkHealthy(t, s)
		counting.requireParts(t, 25, func() error { return s.Eraser().EraseAll(ctx) })
		for q, want := range map[string]string{`SELECT id FROM messages`: string(kept),
			`SELECT id FROM workspaces WHERE name = ''`: "", `SELECT key FROM idempotency_keys`: "",
			`SELECT CAST(count(*) AS TEXT) FROM receipts`: "1"} {
			testenv.Equal(t, strings.Join(d.Query(t, q), " "), want, q, "are left")
		}
		checkHealthy(t, s)
	})
}
