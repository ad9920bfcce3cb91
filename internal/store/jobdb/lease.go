package jobdb

import (
	"context"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A turn says which due jobs are next.
type turn struct {
	owner string
	found loci.Time // when a job was due; after the present a clock was ahead
}

// lease takes the oldest due job of the owner whose turn it is, or returns ErrNoRows. A kind without due jobs costs no
// write.
func (q *Queue) lease(ctx context.Context, kind string) (Job, error) {
	k := q.kinds[kind]
	next, err := sqldb.SystemRead(ctx, q.db, "look for a due job", func(t *sqldb.Tx) (turn, error) {
		return nextTurn(t, kind, k.served)
	})
	if err != nil {
		return Job{}, err
	}
	k.served = next.owner
	return sqldb.System(ctx, q.db, "lease a job", func(t *sqldb.Tx) (j Job, err error) {
		if next.found > t.Now {
			return leaseOldest(t, kind, maxDue(t), next.found, "")
		}
		j, err = leaseOldest(t, kind, 0, t.Now, ` AND owner = ?5`, next.owner)
		if errors.Is(err, sqldb.ErrNoRows) { // another server took it, or too many owners wait for retries
			j, err = leaseOldest(t, kind, 0, t.Now, "")
		}
		return j, err
	})
}

// maxWaiting is the most owners without due jobs that a turn passes over.
const maxWaiting = 1000

// nextOwner is the owner after one in the order of turns, which is a circle. Each of its parts is one look-up in an
// index, as DISTINCT would not be.
func nextOwner(after string) string {
	return `COALESCE((SELECT min(j.owner) FROM jobs j WHERE j.kind = ?1 AND j.owner > ` + after + `),
		(SELECT min(j.owner) FROM jobs j WHERE j.kind = ?1))`
}

// nextTurn returns the next turn of a kind after that of an owner. Without due jobs it is ErrNoRows.
//
// A job beyond the longest pause is due too: its time comes from a clock that was ahead. The condition repeats the
// kind, so that both parts use the index.
func nextTurn(t *sqldb.Tx, kind, after string) (next turn, err error) {
	err = t.QueryRow(`SELECT due FROM jobs WHERE kind = ?1 AND due <= ?2 OR kind = ?1 AND due > ?3 LIMIT 1`,
		[]any{kind, t.Now, maxDue(t)}, []any{&next.found})
	if err != nil || next.found > t.Now {
		next.owner = after
		return next, err
	}
	return next, t.QueryRow(`WITH RECURSIVE turn (owner, n) AS (SELECT `+nextOwner("?3")+`, 1
		UNION ALL SELECT `+nextOwner("turn.owner")+`, turn.n + 1 FROM turn WHERE turn.n < ?4 AND NOT EXISTS (
			SELECT 1 FROM jobs j WHERE j.kind = ?1 AND j.owner = turn.owner AND j.due <= ?2))
		SELECT COALESCE(turn.owner, '') FROM turn ORDER BY turn.n DESC LIMIT 1`,
		[]any{kind, t.Now, after, maxWaiting}, []any{&next.owner})
}

// leaseOldest leases the oldest job of a kind that is due between two times, of those that no other server has locked.
// The scalar subquery runs once: PostgreSQL may run one after IN for each row, and lease them all.
func leaseOldest(t *sqldb.Tx, kind string, first, last loci.Time, condition string, args ...any) (Job, error) {
	skip := ""
	if t.Dialect.Postgres {
		skip = " FOR UPDATE SKIP LOCKED"
	}
	j := Job{Kind: kind, leaseEnd: loci.TimeOf(t.Now.Std().Add(leaseDuration))}
	err := t.QueryRow(`UPDATE jobs SET due = ?4, attempts = attempts + 1 WHERE row_id = (SELECT row_id FROM jobs
		WHERE kind = ?1 AND due BETWEEN ?2 AND ?3`+condition+` ORDER BY due, row_id LIMIT 1`+skip+`)
		RETURNING row_id, subject, attempts, created_at`, append([]any{kind, first, last, j.leaseEnd}, args...),
		[]any{&j.rowID, &j.Subject, &j.Attempts, &j.AddedAt})
	return j, err
}
