package integrity_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
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
	testenv.Must(newService(s).AcknowledgeMessage(ctx, x.to, loci.GetMessage{MessageID: x.direct}))(t)
	return x
}

func (x *mailTest) send(from *identity.Actor, in loci.SendMessage) loci.ID {
	x.t.Helper()
	in.WorkspaceID = x.crew
	return testenv.Must(newService(x.s).SendMessage(ctx, from, in))(x.t).Message.ID
}

// inbox lists the messages of an agent, all but closed ones.
func (x *mailTest) inbox(agent *identity.Actor) string {
	x.t.Helper()
	var list []string
	for _, m := range testenv.Must(newService(x.s).ListInbox(ctx, agent, loci.ListInbox{}))(x.t).Messages {
		list = append(list, fmt.Sprint(m.Content, " ", m.Receipt.Status))
	}
	return strings.Join(list, ", ")
}

// names are names in statements and their values: {direct} is the id of that message, {to} the row id of that agent.
func (x *mailTest) names() []string {
	agent := func(of *identity.Actor) string {
		return `(SELECT g.row_id FROM agents g WHERE g.id = '` + string(of.AgentID) + `')`
	}
	return []string{"{direct}", `'` + string(x.direct) + `'`, "{reply}", `'` + string(x.reply) + `'`, "{answer}",
		`'` + string(x.answer) + `'`, "{to}", agent(x.to), "{from}", agent(x.from), "{receipt}",
		`message = (SELECT x.row_id FROM messages x WHERE x.id = '` + string(x.direct) + `') AND agent = ` + agent(x.to)}
}

// damage runs statements behind the back.
func (x *mailTest) damage(statements string) {
	x.t.Helper()
	for _, statement := range strings.Split(statements, ";") {
		x.d.Exec(x.t, strings.NewReplacer(x.names()...).Replace(statement))
	}
}

const (
	wholeInbox = "Very unread, To all unread, It is long acknowledged"
	newestLong = "It is long acknowledged, Very unread, To all unread"
)

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
					workspace BIGINT NOT NULL, number BIGINT NOT NULL, status TEXT NOT NULL, updated_at BIGINT NOT NULL,
					row_checksum BIGINT NOT NULL, UNIQUE (message, agent));
				INSERT INTO receipts SELECT * FROM copies; DROP TABLE copies`)
		}
		x.damage(`UPDATE receipts SET number = 1 WHERE agent = {to}`)
		d.ComputeChecksums(t)
		sum := checkIntegrity(t, x.s, true)
		if sum.Found != 1 || sum.Repaired != 1 || sum.Inconsistencies[0].Kind != integrity.InconsistentMessages {
			t.Errorf("%+v", sum)
		}
		checkHealthy(t, x.s)
		testenv.Equal(t, x.inbox(x.to), wholeInbox, "the inbox is")
	})
}

// The recipient of a message may be deleted, and a sweep may have begun with an old one.
func TestMessagesWithoutTheirReceiptsAreHealthyWhenTheRecipientIsGone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var ahead atomic.Int64
		s := d.Open(t, store.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		x := newMailTest(t, d, s, "")
		testenv.Must(store.System(ctx, s, "test", func(u *store.SystemTx) (loci.User, error) {
			return u.DeleteUser("bob@example.com", false)
		}))(t)
		checkHealthy(t, s)
		old := newMailTest(t, d, s, "old")
		old.damage(`DELETE FROM receipts WHERE {receipt}`)
		testenv.Equal(t, checkIntegrity(t, s, false).Found, 1, "a lost receipt")
		ahead.Store(int64(91 * 24 * time.Hour))
		checkHealthy(t, s)
		testenv.Equal(t, x.inbox(x.from), "How long? unread", "the messages of a deleted user are")
	})
}

// The end of a grant leaves the checksum of its agent right: of a grant that is revoked, and of one that reaches
// nothing.
func TestAgentsOfEndedGrantsAreRight(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		x := newMailTest(t, d, s, "")
		agents := make([]*identity.Actor, 3)
		for i, owner := range []*identity.Actor{x.ann, x.ann, x.bob} {
			k := storetest.Token(t, s, owner.UserID, x.crew)
			agents[i] = testenv.Must(store.System(ctx, s, "test", func(t *store.SystemTx) (*identity.Actor, error) {
				c, err := t.Credential(identity.CredentialToken, identity.SecretHash(k.Access))
				if err != nil {
					return nil, err
				}
				id, err := t.AgentOf(c.Kind, c.ID)
				return &identity.Actor{UserID: c.UserID, CredentialKind: c.Kind, CredentialID: c.ID, AgentID: id}, err
			}))(t)
			x.send(agents[i], loci.SendMessage{ToAgentID: x.to.AgentID, Content: "It stays"})
			x.send(x.from, loci.SendMessage{ToAgentID: agents[i].AgentID, Content: "It is received"})
		}
		testenv.Must(newService(s).RevokeGrant(ctx, x.ann, loci.RevokeGrant{GrantID: agents[0].CredentialID}))(t)
		d.Exec(t, `DELETE FROM grant_workspaces WHERE grant_id = '`+string(agents[1].CredentialID)+`'`)
		testenv.Must(store.System(ctx, s, "test", func(t *store.SystemTx) (loci.Empty, error) {
			return loci.Empty{}, t.Grants().DeleteExpired()
		}))(t)
		testenv.Must(newService(s).RevokeGrant(ctx, x.bob, loci.RevokeGrant{GrantID: agents[2].CredentialID}))(t)
		for range 2 { // before the receipts are erased, and after
			if sum, err := integrity.New(s).Check(ctx, integrity.Options{}); err != nil || sum.Found > 0 {
				t.Errorf("%+v, %v", sum, err)
			}
			testenv.NoError(t, messagedb.EraseAgents(ctx, s.DB()))
		}
		if got := d.Query(t, `SELECT id FROM agents WHERE key_id IS NULL AND grant_id IS NULL`); len(got) != 3 {
			t.Errorf("agents without a grant: %v", got)
		}
	})
}
