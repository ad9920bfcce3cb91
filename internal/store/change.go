package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// Changes reads the numbers of the changes in all workspaces.
type Changes struct{ base *scope.Base }

// Changes returns the changes of the database.
func (s *Store) Changes() Changes { return Changes{s.base} }

// Subscribe calls f after the commit of each later change of this process.
func (c Changes) Subscribe(f func(struct{})) { c.base.Records.Subscribe(f) }

// Last returns the numbers of the newest changes, at most limit of them.
func (c Changes) Last(ctx context.Context, limit int) ([]int64, error) {
	return c.numbers(ctx, `row_id > (SELECT COALESCE(max(row_id), 0) - ?1 FROM changes)`, limit)
}

// After returns the numbers of the changes after one, and those among missing: a transaction of PostgreSQL may commit
// after one with higher numbers.
func (c Changes) After(ctx context.Context, number int64, missing []int64) ([]int64, error) {
	return c.numbers(ctx, `row_id > ?1 OR `+fmt.Sprintf(c.base.DB.Dialect().InList, "row_id", 2), number,
		sqldb.EncodeInts(missing))
}

func (c Changes) numbers(ctx context.Context, condition string, args ...any) (list []int64, err error) {
	return sqldb.SystemRead(ctx, c.base.DB, "read the numbers of changes", func(t *sqldb.Tx) ([]int64, error) {
		err := t.Query(`SELECT row_id FROM changes WHERE `+condition+` ORDER BY row_id`, args, sqldb.ScanInts(&list))
		return list, err
	})
}

// Watched returns those of the changes that are in workspaces of the users, by user.
func (c Changes) Watched(ctx context.Context, numbers []int64, users []loci.ID) (map[loci.ID][]int64, error) {
	type watched = map[loci.ID][]int64
	return sqldb.SystemRead(ctx, c.base.DB, "read whose changes are new", func(t *sqldb.Tx) (watched, error) {
		of := watched{}
		err := t.Query(`SELECT m.user_id, c.row_id FROM changes c JOIN members m ON m.workspace = c.workspace
			JOIN `+fmt.Sprintf(t.Dialect.StringRows, 2)+` ON list.value = m.user_id
			WHERE `+fmt.Sprintf(t.Dialect.InList, "c.row_id", 1)+` ORDER BY c.row_id`,
			[]any{sqldb.EncodeInts(numbers), sqldb.EncodeStrings(users)}, func(r sqldb.Row) error {
				var user loci.ID
				var number int64
				err := r.Scan(&user, &number)
				of[user] = append(of[user], number)
				return err
			})
		return of, err
	})
}

// Ended returns those of the credentials that have ended.
func (c Changes) Ended(ctx context.Context, credentials []loci.ID) ([]loci.ID, error) {
	return sqldb.SystemRead(ctx, c.base.DB, "read the credentials of streams", func(t *sqldb.Tx) ([]loci.ID, error) {
		return accountdb.In(t, c.base.Plans, nil).Ended(credentials)
	})
}

// ChangeEvents returns the events of numbered changes in the workspaces that the actor reaches now. A member gets none
// of the sessions and candidates of others, and of invitations, which managers alone can read.
func (t *Tx) ChangeEvents(numbers []int64) (list []loci.ChangeEvent, err error) {
	err = t.in.Query(`SELECT c.record, w.id, m.role FROM changes c`+t.in.MembershipJoin("c.workspace")+`WHERE `+
		fmt.Sprintf(t.in.Conn.Dialect.InList, "c.row_id", 2)+` ORDER BY c.row_id`, []any{sqldb.EncodeInts(numbers)},
		func(r sqldb.Row) error {
			e, record, role := loci.NewChangeEvent(loci.EventChanged), "", loci.Role("")
			err := r.Scan(&record, &e.WorkspaceID, &role)
			kind, id, _ := strings.Cut(record, " ")
			id, user, _ := strings.Cut(id, " ")
			e.What, e.ID = loci.RecordKind(kind), loci.ID(id)
			if role.AtLeast(loci.RoleAdmin) || user == "" || user == string(t.in.Actor.UserID) {
				list = append(list, e)
			}
			return err
		})
	return list, err
}
