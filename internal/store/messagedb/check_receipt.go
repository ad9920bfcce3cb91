package messagedb

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// duplicateCondition is the condition of a receipt r whose number an earlier receipt of the agent has.
const duplicateCondition = ` EXISTS (SELECT 1 FROM receipts o WHERE o.agent = r.agent AND o.number = r.number
	AND o.row_id < r.row_id) `

// checkReceipts returns the damage of the receipts of some messages.
func checkReceipts(t *sqldb.Tx, messages []int64) (list []Damage, err error) {
	const statusCondition = ` r.status IN ('unread', 'acknowledged', 'closed') `
	err = t.Query(`SELECT r.row_id, r.agent, x.id, `+orZero("r.number", maxSequence)+`,
		CASE WHEN`+statusCondition+`THEN r.status ELSE '' END, `+orZero("r.updated_at", int64(maxTime))+`, r.workspace = x.workspace, `+duplicateCondition+`
		FROM receipts r JOIN messages x ON x.row_id = r.message WHERE `+fmt.Sprintf(t.Dialect.InList, "r.message", 1)+`
		AND (NOT`+sqldb.IntegerCondition("r.number", 1, maxSequence)+`OR NOT`+statusCondition+`OR NOT`+
		sqldb.IntegerCondition("r.updated_at", 1, int64(maxTime))+`OR r.workspace <> x.workspace OR`+duplicateCondition+`)
		ORDER BY r.row_id`, []any{sqldb.EncodeInts(messages)},
		func(r sqldb.Row) error {
			var rowID, agent, number int64
			var id loci.ID
			var status loci.ReceiptStatus
			var at loci.Time
			var isOfWorkspace, duplicate bool
			err := r.Scan(&rowID, &agent, &id, &number, &status, &at, &isOfWorkspace, &duplicate)
			if number == 0 || duplicate {
				list = append(list, Damage{id, "a receipt has no number of its own", renumber(rowID, agent)})
			}
			if status == "" {
				list = append(list, Damage{id, "the status of a receipt is invalid", nil})
			}
			if !isTime(at) {
				list = append(list, Damage{id, "the time of a receipt is invalid", nil})
			}
			if !isOfWorkspace {
				list = append(list, Damage{id, "a receipt names another workspace than its message",
					correctPlace(rowID)})
			}
			return err
		})
	return list, err
}

// correctPlace returns the repair of a receipt that names another workspace than its message.
func correctPlace(receipt int64) func(*sqldb.Tx) error {
	return func(t *sqldb.Tx) error {
		_, err := t.Exec(`UPDATE receipts SET workspace = (SELECT x.workspace FROM messages x
			WHERE x.row_id = receipts.message) WHERE row_id = ?1`, receipt)
		return err
	}
}

// renumber returns the repair of a receipt: it becomes the newest one of its agent.
func renumber(receipt, agent int64) func(*sqldb.Tx) error {
	return func(t *sqldb.Tx) error {
		_, number, err := nextNumber(t, `row_id = ?1`, agent)
		if err == nil {
			_, err = t.Exec(`UPDATE receipts SET number = ?2 WHERE row_id = ?1`, receipt, number)
		}
		return err
	}
}

// maxNumber is the largest possible number of a receipt of an agent.
var maxNumber = ` COALESCE((SELECT max(r.number) FROM receipts r WHERE r.agent = agents.row_id AND` +
	sqldb.IntegerCondition("r.number", 1, maxSequence) + `), 0) `

// wrongNumberCondition is that of an agent whose last number is below that of its newest receipt, or impossible.
var wrongNumberCondition = ` (NOT` + sqldb.IntegerCondition("agents.last_number", 0, maxSequence) +
	`OR agents.last_number <` + maxNumber + `) `

// correctLastNumber sets a wrong last number of agents of a condition to that of their newest receipt.
func correctLastNumber(t *sqldb.Tx, condition string, arg any) error {
	_, err := t.Exec(`UPDATE agents SET last_number =`+maxNumber+`WHERE `+condition+` AND`+wrongNumberCondition, arg)
	return err
}

// nextNumber takes the next number of the agent of a condition.
func nextNumber(t *sqldb.Tx, condition string, arg any) (agent, number int64, err error) {
	if err = correctLastNumber(t, condition, arg); err != nil {
		return 0, 0, err
	}
	err = t.QueryRow(`UPDATE agents SET last_number = last_number + 1 WHERE `+condition+
		` RETURNING row_id, last_number`, []any{arg}, []any{&agent, &number})
	return agent, number, err
}

// CheckAgents returns the damage of the agents of the user whose personal workspace this is.
func CheckAgents(t *sqldb.Tx, workspace int64) (list []Damage, err error) {
	err = t.Query(`SELECT agents.row_id, agents.id FROM workspaces w JOIN agents ON agents.user_id = w.personal_of
		WHERE w.row_id = ?1 AND`+wrongNumberCondition+`ORDER BY agents.row_id`, []any{workspace},
		func(r sqldb.Row) error {
			var rowID int64
			var d Damage
			err := r.Scan(&rowID, &d.ID)
			d.Detail = "the last number of the agent is below that of its newest receipt, or impossible"
			d.Repair = func(t *sqldb.Tx) error { return correctLastNumber(t, `row_id = ?1`, rowID) }
			list = append(list, d)
			return err
		})
	return list, err
}
