package integrity_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A departure has a team of ann and bob, whose member gone leaves the server, and messages of all.
type departure struct {
	*mailTest
	gone *identity.Actor
	his  *identity.Actor // an agent of gone
}

func newDeparture(t *testing.T, d storetest.Database, s *store.Store) departure {
	t.Helper()
	x := departure{mailTest: newMailTest(t, d, s, ""), gone: user(t, s, "gone")}
	storetest.Join(t, s, x.ann, x.crew, x.gone, loci.RoleMember)
	x.his = storetest.Agent(t, s, x.gone)
	first := x.send(withEncryptionKey(x.his, "first"), loci.SendMessage{ToAgentID: x.to.AgentID,
		Subject: "Of umbrosial", Content: "lummoxites and Snickerdoodles"})
	x.send(x.his, loci.SendMessage{Broadcast: true, Content: "Whirlimagigs to all"})
	x.send(x.to, loci.SendMessage{ToAgentID: x.his.AgentID, Content: "To him", ReplyTo: first})
	x.send(x.to, loci.SendMessage{Broadcast: true, Content: "To him and ann"})
	_, err := newService(s).SendMessage(ctx, x.his, loci.SendMessage{Broadcast: true,
		Content: "dibbernacks to himself"})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// requireLeft fails unless the messages of the others alone are left, and the agents of gone have no receipt.
func (x departure) requireLeft(t *testing.T) {
	t.Helper()
	want := []string{"How long?", "It is long", "To all", "To him", "To him and ann", "Very"}
	if got := x.d.Query(t, `SELECT content FROM messages`); !slices.Equal(sorted(got), want) {
		t.Errorf("the messages %q are left", got)
	}
	if got := x.d.Query(t, `SELECT id FROM agents`); !slices.Equal(sorted(got),
		sorted([]string{string(x.from.AgentID), string(x.to.AgentID)})) {
		t.Errorf("the agents %v are left", got)
	}
	if got := x.d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM receipts`)[0]; got != "5" {
		t.Errorf("%s receipts are left", got)
	}
	if got := x.inbox(x.to); got != wholeInbox {
		t.Errorf("the inbox of bob is %q", got)
	}
	if got := x.inbox(x.from); got != "To him and ann unread, How long? unread" {
		t.Errorf("the inbox of ann is %q", got)
	}
	checkHealthy(t, x.s)
}

func sorted(list []string) []string { slices.Sort(list); return list }

func TestPurgedUserLeavesNoByteOfMessages(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		x := newDeparture(t, d, server)
		requireTraces(t, d, "mbrosial", "lummoxite", "ickerdoodle", "irlimagig", "ibbernack")
		would, err := integrity.New(operator).PurgeUser(ctx, "gone@example.com", false)
		if err != nil {
			t.Fatal(err)
		}
		did, err := integrity.New(operator).PurgeUser(ctx, "gone@example.com", true)
		if err != nil || did != would || did.Messages != 3 || did.Responses != 1 ||
			!strings.Contains(did.String(), "3 messages between agents") {
			t.Errorf("purged %+v, of %+v, %v", did, would, err)
		}
		x.requireLeft(t)
	})
}

func TestPurgedWorkspaceLeavesNoByteOfMessages(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		x := newDeparture(t, d, server)
		elsewhere := must(newService(server).SendMessage(ctx, x.to, loci.SendMessage{WorkspaceID: team(t, server, x.bob,
			nil), Broadcast: true, Content: "elsewhere"}))(t).Message.ID
		must(newService(server).LeaveWorkspace(ctx, x.gone, loci.LeaveWorkspace{WorkspaceID: x.crew}))(t)
		requireTraces(t, d, "mbrosial", "lummoxite", "ickerdoodle", "irlimagig", "ibbernack")
		did, err := integrity.New(operator).PurgeWorkspace(ctx, x.crew, true)
		if err != nil || did.Messages != 8 || did.Responses != 1 {
			t.Errorf("purged %+v, %v", did, err)
		}
		d.Exec(t, `DELETE FROM messages WHERE content LIKE 'dibbernacks%'`) // it is in the workspace of gone
		if _, err := integrity.New(operator).PurgeDeleted(ctx, true); err != nil {
			t.Fatal(err)
		}
		if got := d.Query(t, `SELECT id FROM messages`); !slices.Equal(got, []string{string(elsewhere)}) {
			t.Errorf("the messages %v are left", got)
		}
		if got := d.Query(t, `SELECT CAST(row_id AS TEXT) FROM receipts`); len(got) != 0 {
			t.Errorf("%d receipts are left", len(got))
		}
		checkHealthy(t, server)
	})
}

func TestDeletedAccountLeavesNothingOfItsMessages(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		x := newDeparture(t, d, s)
		if _, err := store.System(ctx, s, "test", func(u *store.SystemTx) (loci.User, error) {
			return u.DeleteUser("gone@example.com", false)
		}); err != nil {
			t.Fatal(err)
		}
		if got := x.inbox(x.to); got != wholeInbox {
			t.Errorf("after the deletion the inbox of bob is %q", got)
		}
		checkHealthy(t, s)
		if err := s.Eraser().EraseAll(ctx); err != nil {
			t.Fatal(err)
		}
		x.requireLeft(t)
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
	x.d.Exec(t, `INSERT INTO receipts (message, agent, number, status, updated_at) SELECT x.row_id, `+row(to)+`, x.row_id,
		'unread', x.created_at FROM messages x WHERE x.content = 'one of many' AND x.to_agent = '`+string(to.AgentID)+`'`)
	x.d.Exec(t, `UPDATE agents SET last_number = (SELECT max(r.number) FROM receipts r WHERE r.agent = agents.row_id)
		WHERE id = '`+string(to.AgentID)+`'`)
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
	if err := f(); err != nil {
		t.Fatal(err)
	}
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
		kept := must(newService(s).SendMessage(ctx, x.from, loci.SendMessage{ToAgentID: x.from.AgentID,
			Content: "to himself"}))(t).Message.ID
		x.addMessages(t, x.from, storetest.Agent(t, s, x.bob), 1500)
		storetest.Agents(t, s, x.bob, 1500)
		checkHealthy(t, s)
		sent := x.send(withEncryptionKey(x.from, "last"), loci.SendMessage{Broadcast: true, Content: "last"})
		counting.writes.Store(0)
		must(newService(s).DeleteWorkspace(ctx, x.ann, loci.DeleteWorkspace{WorkspaceID: x.crew}))(t)
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
			if got := strings.Join(d.Query(t, q), " "); got != want {
				t.Errorf("%s: %s are left, want %s", q, got, want)
			}
		}
		checkHealthy(t, s)
	})
}
