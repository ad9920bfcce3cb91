package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A mailbox sends and closes messages of agents in a workspace.
type mailbox struct {
	t         *testing.T
	s         *service.Service
	workspace loci.ID
}

// send sends a message to an agent, or a broadcast without one.
func (b mailbox) send(from *identity.Actor, to *identity.Actor, text string) loci.ID {
	b.t.Helper()
	in := loci.SendMessage{WorkspaceID: b.workspace, Broadcast: to == nil, Content: loci.MessageText(text)}
	if to != nil {
		in.ToAgentID = to.AgentID
	}
	out, err := b.s.SendMessage(ctx, from, in)
	if err != nil {
		b.t.Fatal(err)
	}
	return out.Message.ID
}

func (b mailbox) close(who *identity.Actor, ids ...loci.ID) {
	b.t.Helper()
	for _, id := range ids {
		if _, err := b.s.CloseMessage(ctx, who, loci.GetMessage{MessageID: id}); err != nil {
			b.t.Fatal(err)
		}
	}
}

const day = 24 * time.Hour

func TestClosedMessagesAreDeletedAfter90Days(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		clock := &fakeClock{}
		s := d.Open(t, store.Options{Clock: clock.time})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew := team(t, s, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		from, one, two := storetest.Agent(t, s, ann), storetest.Agent(t, s, bob), storetest.Agent(t, s, bob)
		crewMail := mailbox{t, newService(s), crew}
		alone := mailbox{t, newService(s), team(t, s, ann, nil)}

		closed, half := crewMail.send(from, nil, "closed by all"), crewMail.send(from, nil, "closed by one")
		done, unread := crewMail.send(from, one, "closed"), crewMail.send(from, one, "unread")
		late, read := crewMail.send(from, one, "closed later"), crewMail.send(from, one, "acknowledged")
		revoked := storetest.Agent(t, s, bob)
		lost := crewMail.send(from, revoked, "unread by an agent that is revoked")
		if _, err := newService(s).RevokeKey(ctx, bob, loci.RevokeKey{KeyID: revoked.CredentialID}); err != nil {
			t.Fatal(err)
		}
		gone := user(t, s, "gone")
		storetest.Join(t, s, ann, crew, gone, loci.RoleMember)
		left := crewMail.send(from, storetest.Agent(t, s, gone), "unread by an agent whose user has left")
		if _, err := newService(s).LeaveWorkspace(ctx, gone, loci.LeaveWorkspace{WorkspaceID: crew}); err != nil {
			t.Fatal(err)
		}
		deaf := alone.send(from, nil, "without recipients")
		crewMail.close(one, closed, half, done)
		crewMail.close(two, closed)
		if _, err := newService(s).AcknowledgeMessage(ctx, one, loci.GetMessage{MessageID: read}); err != nil {
			t.Fatal(err)
		}
		clock.add(day)
		crewMail.close(one, late)
		young := alone.send(from, nil, "young, without recipients")
		clock.add(89*day - time.Second)
		names := map[loci.ID]string{closed: "closed", half: "half", done: "done", unread: "unread", late: "late",
			read: "read", deaf: "deaf", young: "young", lost: "lost", left: "left"}
		kept := func() string {
			t.Helper()
			if err := messagedb.DeleteClosed(ctx, s.DB()); err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, id := range d.Query(t, `SELECT id FROM messages`) {
				list = append(list, names[loci.ID(id)])
			}
			slices.Sort(list)
			return strings.Join(list, " ")
		}
		for _, c := range []struct {
			after time.Duration
			want  string
		}{
			{0, "closed deaf done half late left lost read unread young"}, // a second too early
			{time.Second, "half late read unread young"},
			{day, "half read unread"},
			{1000 * day, "half read unread"},
		} {
			if clock.add(c.after); kept() != c.want {
				t.Errorf("after %v more: %s are kept, want %s", c.after, kept(), c.want)
			}
		}
		crewMail.close(two, half)
		if clock.add(90 * day); kept() != "read unread" {
			t.Errorf("closed by the last recipient: %s are kept", kept())
		}
		if n := d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM receipts`)[0]; n != "2" {
			t.Errorf("%s receipts are kept", n)
		}
		checkHealthy(t, s)
	})
}

// A sweep continues behind messages that are kept, and deletes more receipts than one transaction.
func TestSweepOfMessagesReachesAll(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		const many = 1100
		clock := &fakeClock{}
		s := d.Open(t, store.Options{Clock: clock.time})
		ann := user(t, s, "ann")
		crew := team(t, s, ann, nil)
		from, to := storetest.Agent(t, s, ann), storetest.Agents(t, s, ann, many)
		mail := mailbox{t, newService(s), crew}
		kept, wide := mail.send(from, to[0], "kept"), mail.send(from, nil, "to all")
		d.Exec(t, fmt.Sprintf(`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < %d)
			INSERT INTO messages (id, workspace, agent, to_agent, subject, content, thread_id, reply_to, created_at)
			SELECT x.id || '-' || n.value, x.workspace, x.agent, x.to_agent, '', '', x.thread_id, '',
				x.created_at + n.value FROM n CROSS JOIN messages x WHERE x.id = '%s'`, many, kept))
		d.Exec(t, `INSERT INTO receipts (message, agent, workspace, number, status, updated_at)
			SELECT x.row_id, r.agent, x.workspace, 1000 + x.row_id, CASE WHEN x.row_id % 2 = 0 THEN 'closed' ELSE 'unread' END,
				x.created_at FROM messages x CROSS JOIN receipts r JOIN messages k ON k.row_id = r.message
			WHERE k.id = '`+string(kept)+`' AND NOT EXISTS (SELECT 1 FROM receipts o WHERE o.message = x.row_id)`)
		d.Exec(t, `UPDATE receipts SET status = 'closed' WHERE message = (SELECT x.row_id FROM messages x
			WHERE x.id = '`+string(wide)+`')`)
		clock.add(90*day + time.Second)
		if err := messagedb.DeleteClosed(ctx, s.DB()); err != nil {
			t.Fatal(err)
		}
		for q, want := range map[string]int{`receipts WHERE status = 'closed'`: 0, `receipts`: many/2 + 1,
			`messages`: many/2 + 1} {
			if n := d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM `+q)[0]; n != fmt.Sprint(want) {
				t.Errorf("%s of %s are left, want %d", n, q, want)
			}
		}
	})
}
