package integrity_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A mailTest has messages of agents of two members of a team.
type mailTest struct {
	t        *testing.T
	d        storetest.Database
	s        *store.Store
	ann, bob *identity.Actor
	crew     loci.ID
	from, to *identity.Actor // agents of ann and bob

	direct, broadcast, reply, answer loci.ID // the answer is one to the reply
}

func newMailTest(t *testing.T, d storetest.Database, s *store.Store, name string) *mailTest {
	t.Helper()
	x := &mailTest{t: t, d: d, s: s, ann: user(t, s, "ann"+name), bob: user(t, s, "bob"+name)}
	x.crew = team(t, s, x.ann, map[*identity.Actor]loci.Role{x.bob: loci.RoleMember})
	x.from, x.to = storetest.Agent(t, s, x.ann), storetest.Agent(t, s, x.bob)
	x.direct = x.send(x.from, loci.SendMessage{ToAgentID: x.to.AgentID, Subject: "Rope", Content: "It is long"})
	x.broadcast = x.send(x.from, loci.SendMessage{Broadcast: true, Content: "To all"})
	x.reply = x.send(x.to, loci.SendMessage{ToAgentID: x.from.AgentID, Content: "How long?", ReplyTo: x.direct})
	x.answer = x.send(x.from, loci.SendMessage{ToAgentID: x.to.AgentID, Content: "Very", ReplyTo: x.reply})
	must(newService(s).AcknowledgeMessage(ctx, x.to, loci.GetMessage{MessageID: x.direct}))(t)
	return x
}

func (x *mailTest) send(from *identity.Actor, in loci.SendMessage) loci.ID {
	x.t.Helper()
	in.WorkspaceID = x.crew
	return must(newService(x.s).SendMessage(ctx, from, in))(x.t).Message.ID
}

// inbox lists the messages of an agent, all but closed ones.
func (x *mailTest) inbox(agent *identity.Actor) string {
	x.t.Helper()
	var list []string
	for _, m := range must(newService(x.s).ListInbox(ctx, agent, loci.ListInbox{}))(x.t).Messages {
		list = append(list, fmt.Sprint(m.Content, " ", m.Receipt.Status))
	}
	return strings.Join(list, ", ")
}

// messages lists the fields of the messages that a check can repair. A repaired time is that of the id, which may be
// some milliseconds later, so the list says of it whether it is of this hour.
func (x *mailTest) messages() string {
	x.t.Helper()
	return strings.Join(x.d.Query(x.t, `SELECT id || ' ' || thread_id || ' ' || CAST(abs(created_at - `+
		fmt.Sprint(time.Now().UnixMicro())+`) < 3600000000 AS TEXT) FROM messages WHERE workspace = (SELECT row_id FROM workspaces WHERE id = '`+string(x.crew)+`')
		ORDER BY row_id`), "\n")
}

// damage runs statements behind the back. {direct} is the id of that message, {to} the row id of that agent.
func (x *mailTest) damage(statements string) {
	x.t.Helper()
	agent := func(of *identity.Actor) string {
		return `(SELECT g.row_id FROM agents g WHERE g.id = '` + string(of.AgentID) + `')`
	}
	names := strings.NewReplacer("{direct}", `'`+string(x.direct)+`'`, "{reply}", `'`+string(x.reply)+`'`,
		"{answer}", `'`+string(x.answer)+`'`, "{to}", agent(x.to), "{from}", agent(x.from), "{receipt}",
		`message = (SELECT x.row_id FROM messages x WHERE x.id = '`+string(x.direct)+`') AND agent = `+agent(x.to))
	for _, statement := range strings.Split(statements, ";") {
		x.d.Exec(x.t, names.Replace(statement))
	}
}

// check checks the store, and fails unless it finds one inconsistency with these words.
func (x *mailTest) check(statement, says string, repair, repaired bool) {
	x.t.Helper()
	sum := checkIntegrity(x.t, x.s, repair)
	if sum.Found != 1 || (sum.Repaired == 1) != repaired {
		x.t.Errorf("%s, repair %v: %+v", statement, repair, sum)
	}
	for _, f := range sum.Inconsistencies {
		if f.Kind != integrity.InconsistentMessages || !strings.Contains(f.Detail, says) || f.ID == "" {
			x.t.Errorf("%s: %+v, want %q", statement, f, says)
		}
	}
}

const (
	wholeInbox = "Very unread, To all unread, It is long acknowledged"
	newestLong = "It is long acknowledged, Very unread, To all unread"
)

// messageDamage is damage, what a check says of it, and the inbox of the recipient after the repair.
var messageDamage = []struct{ statement, says, inbox string }{
	{`UPDATE agents SET last_number = 1 WHERE row_id = {to}`, "the last number", wholeInbox},
	{`UPDATE agents SET last_number = -1 WHERE row_id = {from}`, "the last number", wholeInbox},
	{`UPDATE receipts SET number = 700 WHERE {receipt}`, "the last number", newestLong},
	{`UPDATE agents SET last_number = 9223372036854775807 WHERE row_id = {to}`, "the last number", wholeInbox},
	{`UPDATE receipts SET number = 9223372036854775807 WHERE {receipt}`, "no number of its own", newestLong},
	{`UPDATE receipts SET workspace = -1 WHERE {receipt}`, "another workspace", wholeInbox},
	{`UPDATE receipts SET number = 0 WHERE {receipt}`, "no number of its own", newestLong},
	{`UPDATE receipts SET status = 'lost' WHERE {receipt}`, "the status of a receipt",
		strings.Replace(wholeInbox, "acknowledged", "unread", 1)},
	{`UPDATE receipts SET updated_at = 0 WHERE {receipt}`, "the time of a receipt", wholeInbox},
	{`UPDATE receipts SET updated_at = 253402300800000000 WHERE {receipt}`, "the time of a receipt", wholeInbox},
	{`DELETE FROM receipts WHERE {receipt}`, "no receipt", "It is long unread, Very unread, To all unread"},
	{`UPDATE messages SET created_at = -5 WHERE id = {direct}`, "the time of the message", wholeInbox},
	{`UPDATE messages SET thread_id = {answer} WHERE id = {direct}`, "the thread", wholeInbox},
	{`UPDATE messages SET thread_id = 'x' WHERE id = {direct}`, "the thread", wholeInbox},
	{`UPDATE messages SET thread_id = id WHERE id = {reply}`, "the thread", wholeInbox},
	{`UPDATE messages SET thread_id = '' WHERE id = {answer}`, "the thread", wholeInbox},
	{`UPDATE messages SET thread_id = id WHERE id = {answer}`, "the thread", wholeInbox},
}

// mistypedMessages is further damage, which SQLite alone can hold: values of other types than that of their column.
var mistypedMessages = []struct{ statement, says, inbox string }{
	{`UPDATE agents SET last_number = 'abc' WHERE row_id = {to}`, "the last number", wholeInbox},
	{`UPDATE receipts SET number = 'abc' WHERE {receipt}`, "no number of its own", newestLong},
	{`UPDATE receipts SET number = 2.5 WHERE {receipt}`, "no number of its own", newestLong},
	{`UPDATE receipts SET updated_at = 'abc' WHERE {receipt}`, "the time of a receipt", wholeInbox},
	{`UPDATE receipts SET status = x'00ff' WHERE {receipt}`, "the status of a receipt",
		strings.Replace(wholeInbox, "acknowledged", "unread", 1)},
	{`UPDATE messages SET created_at = 'abc' WHERE id = {direct}`, "the time of the message", wholeInbox},
}

func TestDamageOfMessagesIsFoundAndRepaired(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		list := messageDamage
		if d.Dir != "" {
			list = slices.Concat(list, mistypedMessages)
		}
		for i, c := range list {
			x := newMailTest(t, d, s, fmt.Sprint(i))
			checkHealthy(t, s)
			before := x.messages()
			x.damage(c.statement)
			x.check(c.statement, c.says, false, false)
			x.check(c.statement, c.says, true, true)
			checkHealthy(t, s)
			if got := x.inbox(x.to); got != c.inbox {
				t.Errorf("%s: the inbox is %q, want %q", c.statement, got, c.inbox)
			}
			if after := x.messages(); after != before {
				t.Errorf("%s: the messages are\n%s\nnot\n%s", c.statement, after, before)
			}
			x.send(x.from, loci.SendMessage{ToAgentID: x.to.AgentID, Content: "next"})
			if got := x.inbox(x.to); got != "next unread, "+c.inbox {
				t.Errorf("%s: the inbox is %q after one more", c.statement, got)
			}
		}
	})
}

// unrepairableMessages is damage that nothing else in the database can repair, and its undoing.
var unrepairableMessages = []struct{ statement, says, undo string }{
	{`UPDATE messages SET id = 'x' WHERE id = {answer}`, "the id of the message",
		`UPDATE messages SET id = {answer} WHERE id = 'x'`},
	{`UPDATE messages SET content = '' WHERE id = {answer}`, "no text",
		`UPDATE messages SET content = 'Very' WHERE id = {answer}`},
	{`UPDATE messages SET subject = '` + strings.Repeat("ü", 201) + `' WHERE id = {answer}`, "too long",
		`UPDATE messages SET subject = '` + strings.Repeat("ü", 200) + `' WHERE id = {answer}`},
	{`UPDATE messages SET reply_to = 'x' WHERE id = {answer}`, "it replies to is invalid",
		`UPDATE messages SET reply_to = {reply} WHERE id = {answer}`},
	{`UPDATE messages SET to_agent = 'x' WHERE id = {answer}`, "the id of the recipient",
		`UPDATE messages SET to_agent = (SELECT id FROM agents WHERE row_id = {to}) WHERE id = {answer}`},
	{`UPDATE messages SET to_agent = (SELECT id FROM agents WHERE row_id = {from}) WHERE id = {answer}`,
		"another agent than the recipient",
		`UPDATE messages SET to_agent = (SELECT id FROM agents WHERE row_id = {to}) WHERE id = {answer}`},
	{`UPDATE messages SET workspace = workspace - 1 WHERE id = {answer}; UPDATE receipts SET workspace = workspace - 1
		WHERE message = (SELECT row_id FROM messages WHERE id = {answer})`, "another workspace", // that of bob
		`UPDATE messages SET workspace = workspace + 1 WHERE id = {answer}; UPDATE receipts SET workspace = workspace + 1
		WHERE message = (SELECT row_id FROM messages WHERE id = {answer})`},
}

func TestDamageOfMessagesBeyondRepairIsReported(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newMailTest(t, d, d.Open(t, store.Options{}), "")
		for _, c := range unrepairableMessages {
			x.damage(c.statement)
			x.check(c.statement, c.says, true, false)
			x.damage(c.undo)
			checkHealthy(t, x.s)
		}
	})
}

// Without the constraint, as in a database whose index is damaged.
func TestEqualNumbersOfReceiptsAreFoundAndRepaired(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newMailTest(t, d, d.Open(t, store.Options{}), "")
		if d.Dir == "" {
			x.damage(`ALTER TABLE receipts DROP CONSTRAINT receipts_agent_number_key`)
		} else {
			x.damage(`CREATE TABLE copies AS SELECT * FROM receipts; DROP TABLE receipts;
				CREATE TABLE receipts (row_id INTEGER PRIMARY KEY, message BIGINT NOT NULL, agent BIGINT NOT NULL,
					workspace BIGINT NOT NULL, number BIGINT NOT NULL, status TEXT NOT NULL, updated_at BIGINT NOT NULL, UNIQUE (message, agent));
				INSERT INTO receipts SELECT * FROM copies; DROP TABLE copies`)
		}
		x.damage(`UPDATE receipts SET number = 1 WHERE agent = {to}`)
		sum := checkIntegrity(t, x.s, true)
		if sum.Found != 2 || sum.Repaired != 2 || sum.Inconsistencies[0].Kind != integrity.InconsistentMessages {
			t.Errorf("%+v", sum)
		}
		checkHealthy(t, x.s)
		if got := x.inbox(x.to); got != wholeInbox {
			t.Errorf("the inbox is %q", got)
		}
	})
}

// The recipient of a message may be deleted, and a sweep may have begun with an old one.
func TestMessagesWithoutTheirReceiptsAreHealthyWhenTheRecipientIsGone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var ahead atomic.Int64
		s := d.Open(t, store.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		x := newMailTest(t, d, s, "")
		if _, err := store.System(ctx, s, "test", func(u *store.SystemTx) (loci.User, error) {
			return u.DeleteUser("bob@example.com", false)
		}); err != nil {
			t.Fatal(err)
		}
		checkHealthy(t, s)
		old := newMailTest(t, d, s, "old")
		old.damage(`DELETE FROM receipts WHERE {receipt}`)
		old.check("a lost receipt", "no receipt", false, false)
		ahead.Store(int64(91 * 24 * time.Hour))
		checkHealthy(t, s)
		if got := x.inbox(x.from); got != "How long? unread" {
			t.Errorf("the messages of a deleted user are %q", got)
		}
	})
}

func TestSampleFindsDamageOfMessages(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		x := newMailTest(t, d, s, "")
		add(t, s, x.ann, x.crew, "The lanterns are blue")
		if sum, err := integrity.New(s).Sample(ctx, 10); err != nil || sum.Found != 0 {
			t.Fatal(sum, err)
		}
		x.damage(`UPDATE receipts SET status = ''`)
		sum, err := integrity.New(s).Sample(ctx, 10)
		if err != nil || sum.Found == 0 || sum.Inconsistencies[0].Kind != integrity.InconsistentMessages {
			t.Errorf("%+v %v", sum, err)
		}
	})
}
