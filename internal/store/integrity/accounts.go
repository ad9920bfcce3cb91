package integrity

import (
	"context"
	"fmt"
	"strconv"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// An accountColumn is a derived column of users, invitations or grants, with rows of a workspace ?1.
type accountColumn struct {
	table, column, key string
	rows               string // condition of the rows
	source             string // expression of the value that the column follows from
	derive             func(source string) any
	free               string // condition of the rows that may have the value ?3
}

// ownerCondition is that of the user whose personal workspace this is.
const ownerCondition = ` id = (SELECT w.personal_of FROM workspaces w WHERE w.row_id = ?1) `

// lastBenefit is the end of the benefits of a user. A later end of the plan is that of a benefit whose row is lost.
const lastBenefit = ` COALESCE((SELECT max(b.expires_at) FROM benefits b WHERE b.user_id = users.id), 0) `

var accountColumns = []accountColumn{
	{"users", "email_folded", "id", ownerCondition, "email", foldAddress,
		` NOT EXISTS (SELECT 1 FROM users o WHERE o.email_folded = ?3) `},
	{"users", "pro_until", "id", ownerCondition + `AND pro_until < ` + lastBenefit, lastBenefit, parseTime, ` TRUE `},
	{"invitations", "email_folded", "id", ` workspace = ?1 `, "email", foldAddress, ` TRUE `},
	{"grant_workspaces", "user_id", "grant_id", ` workspace = ?1 `, `COALESCE((SELECT g.user_id FROM grants g
		JOIN members m ON m.user_id = g.user_id AND m.workspace = grant_workspaces.workspace
		WHERE g.id = grant_workspaces.grant_id), user_id)`, func(source string) any { return source }, ` TRUE `},
}

func foldAddress(source string) any { return accountdb.FoldEmail(loci.Email(source)) }

func parseTime(source string) any {
	n, _ := strconv.ParseInt(source, 10, 64)
	return n
}

// eachWrong calls f with the keys and the right values of the undamaged rows that have another value.
func (c accountColumn) eachWrong(t *sqldb.Tx, workspace int64, f func(key string, right any) error) error {
	type row struct{ key, source, stored string }
	var list []row
	if err := t.Query(`SELECT `+c.key+`, CAST(`+c.source+` AS TEXT), CAST(`+c.column+` AS TEXT) FROM `+c.table+
		` WHERE`+c.rows+`AND NOT`+sqldb.ChecksumTables()[c.table].DamageCondition(t.Dialect, c.table)+`ORDER BY 1`,
		[]any{workspace}, func(r sqldb.Row) error {
			var x row
			err := r.Scan(&x.key, &x.source, &x.stored)
			list = append(list, x)
			return err
		}); err != nil {
		return err
	}
	for _, x := range list {
		if right := c.derive(x.source); fmt.Sprint(right) != x.stored {
			if err := f(x.key, right); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAccounts compares the derived columns of accounts with what they follow from.
func (w *workspaceCheck) checkAccounts() error {
	for _, c := range accountColumns {
		if err := c.eachWrong(w.t, w.workspace, func(key string, _ any) error {
			w.differ(InconsistentAccounts, "the value %s of %s of %s is another one", c.column, c.table, key)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// rebuildAccounts derives these columns again. No benefit is activated meanwhile.
func rebuildAccounts(ctx context.Context, c *Checker, workspace int64) error {
	_, err := sqldb.System(ctx, c.db, "rebuild accounts", func(t *sqldb.Tx) (loci.Empty, error) {
		err := t.Query(`SELECT row_id FROM users WHERE`+ownerCondition+t.LockClause("NO KEY UPDATE", "users"),
			[]any{workspace}, func(sqldb.Row) error { return nil })
		for _, c := range accountColumns {
			if err == nil {
				err = c.eachWrong(t, workspace, func(key string, right any) error {
					_, err := t.Exec(`UPDATE `+c.table+` SET `+c.column+` = ?3 WHERE`+c.rows+`AND `+c.key+
						` = ?2 AND`+c.free, workspace, key, right)
					return err
				})
			}
		}
		return loci.Empty{}, err
	})
	return err
}
