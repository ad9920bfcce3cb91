package messagedb

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A Damage is an inconsistency of a message, of its receipts or of an agent.
type Damage struct {
	ID     loci.ID // of the message or of the agent
	Detail string
	Repair func(t *sqldb.Tx) error // rebuilds derived data; nil if only a backup can restore what is damaged
}

// maxTime is the last moment that RFC 3339 can express.
const maxTime = loci.Time(253402300799999999)

func isTime(t loci.Time) bool { return t > 0 && t <= maxTime }

func isMessageID(id loci.ID) bool { return id.Valid() && !isAgentID(id) }

func isAgentID(id loci.ID) bool {
	return id.Valid() && strings.HasPrefix(string(id), loci.AgentIDPrefix)
}

// A checkedRow is a message with what it depends on.
type checkedRow struct {
	rowID                     int64
	id, to, threadID, replyTo loci.ID
	createdAt                 loci.Time // 0 if it is impossible
	subject, content          string

	thread      loci.ID // its own, or that of the message that it replies to; empty if that is gone
	isElsewhere bool    // that message is one of another workspace
	toExists    bool    // the recipient exists, and its user
	received    bool    // the recipient has a receipt
	others      int64   // receipts of other agents
}

var checkedColumns = ` x.row_id, x.id, x.to_agent, x.thread_id, x.reply_to, ` +
	orZero("x.created_at", int64(maxTime)) + `, x.subject, x.content,
	CASE WHEN x.reply_to = '' THEN x.id WHEN p.reply_to = '' THEN p.id ELSE COALESCE(p.thread_id, '') END,
	COALESCE(p.workspace <> x.workspace, FALSE), o.key_id IS NOT NULL OR o.grant_id IS NOT NULL,
	EXISTS (SELECT 1 FROM receipts r WHERE r.message = x.row_id AND r.agent = o.row_id),
	CASE WHEN x.to_agent = '' THEN 0 ELSE (SELECT count(*) FROM receipts r WHERE r.message = x.row_id
		AND r.agent <> COALESCE(o.row_id, 0)) END `

// maxSequence is the largest number that a sequence can reach.
const maxSequence = 1 << 53

// orZero returns the integer of a column from 1 to a bound, or 0 for any other value.
func orZero(column string, most int64) string {
	return ` CASE WHEN` + sqldb.IntegerCondition(column, 1, most) + `THEN ` + column + ` ELSE 0 END `
}

// CheckMessages returns the damage of some messages and of their receipts.
func CheckMessages(t *sqldb.Tx, rowIDs []int64) (list []Damage, err error) {
	err = t.Query(`SELECT`+checkedColumns+`FROM messages x LEFT JOIN messages p ON p.id = x.reply_to LEFT JOIN agents o ON o.id = x.to_agent WHERE `+
		fmt.Sprintf(t.Dialect.InList, "x.row_id", 1)+` ORDER BY x.row_id`, []any{sqldb.EncodeInts(rowIDs)}, func(r sqldb.Row) error {
		var x checkedRow
		err := r.Scan(&x.rowID, &x.id, &x.to, &x.threadID, &x.replyTo, &x.createdAt, &x.subject, &x.content,
			&x.thread, &x.isElsewhere, &x.toExists, &x.received, &x.others)
		list = append(append(append(list, x.checkFields()...), x.checkThread()...), x.checkRecipient(t.Now)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	receipts, err := checkReceipts(t, rowIDs)
	return append(list, receipts...), err
}

// checkFields reports fields that no call can have stored.
func (x checkedRow) checkFields() (list []Damage) {
	if !isMessageID(x.id) {
		list = append(list, Damage{x.id, "the id of the message is invalid", nil})
	}
	if x.content == "" || len(x.content) > loci.MaxMessage || utf8.RuneCountInString(x.subject) > loci.MaxSubject {
		list = append(list, Damage{x.id, "the message has no text, or too long ones", nil})
	}
	if !isTime(x.createdAt) {
		list = append(list, Damage{x.id, "the time of the message is invalid", nil})
	}
	return list
}

// checkThread reports a message that does not belong to the thread of the message that it replies to, unless that one
// is damaged: it is reported itself. The threads of earlier messages are repaired before.
func (x checkedRow) checkThread() []Damage {
	switch {
	case x.replyTo != "" && !isMessageID(x.replyTo):
		return []Damage{{x.id, "the id of the message that it replies to is invalid", nil}}
	case x.isElsewhere:
		return []Damage{{x.id, "it replies to a message of another workspace", nil}}
	}
	right := x.thread
	if !isMessageID(right) && isMessageID(x.threadID) || right == x.threadID && isMessageID(right) {
		return nil
	}
	d := Damage{ID: x.id, Detail: "the thread of the message is another one"}
	if isMessageID(right) {
		d.Repair = func(t *sqldb.Tx) error {
			_, err := t.Exec(`UPDATE messages SET thread_id = ?2 WHERE row_id = ?1`, x.rowID, right)
			return err
		}
	}
	return []Damage{d}
}

// checkRecipient reports a direct message that another agent has received, or its recipient has not. A sweep or a
// deletion of the recipient removes receipts before messages.
func (x checkedRow) checkRecipient(now loci.Time) []Damage {
	switch {
	case x.to == "":
		return nil
	case !isAgentID(x.to):
		return []Damage{{x.id, "the id of the recipient is invalid", nil}}
	case x.others > 0:
		return []Damage{{x.id, "another agent than the recipient has received the message", nil}}
	case x.received || !x.toExists || x.createdAt <= now-loci.Time(keepClosed.Microseconds()):
		return nil
	}
	return []Damage{{x.id, "the recipient has no receipt of the message", func(t *sqldb.Tx) error {
		agent, number, err := nextNumber(t, `id = ?1`, x.to)
		if err == nil {
			_, err = t.Exec(`INSERT INTO receipts (message, agent, workspace, number, status, updated_at)
				SELECT ?1, ?2, x.workspace, ?3, ?4, ?5 FROM messages x WHERE x.row_id = ?1
				ON CONFLICT (message, agent) DO NOTHING`, x.rowID, agent, number, loci.ReceiptUnread, t.Now)
		}
		return err
	}}}
}
