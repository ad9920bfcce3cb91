package memorydb

import (
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

const (
	week   = loci.Time(7 * 24 * time.Hour / time.Microsecond)
	monday = loci.Time(4 * 24 * time.Hour / time.Microsecond) // the first one of Unix time
)

// Activity counts the memories of a workspace in scope that were created, reviewed or replaced, in each of the last
// weeks, oldest first, each up to MaxActivity. It reads ranges of indexes, three for each atlas and week.
func Activity(h scope.Holder, workspaceID loci.ID) ([]loci.ActivityWeek, error) {
	t := scope.Of(h)
	list, starts := make([]loci.ActivityWeek, loci.ActivityWeeks), make([]int64, loci.ActivityWeeks)
	for i := range list {
		start := t.Conn.Now - (t.Conn.Now-monday)%week - loci.Time(len(list)-1-i)*week
		year, number := start.Std().ISOWeek()
		list[i].Week, starts[i] = fmt.Sprintf("%04d-W%02d", year, number), int64(start)
	}
	// A subquery for each atlas keeps PostgreSQL from beginning with all reviewed memories.
	count := func(at, which string) string {
		return fmt.Sprintf(`(SELECT CAST(COALESCE(SUM((SELECT count(*) FROM (SELECT 1 FROM memories x WHERE x.atlas = a.row_id
			AND %s AND x.%[2]s >= s.start AND x.%[2]s < s.start + ?4 LIMIT %[3]d) AS counted)), 0) AS BIGINT)
			FROM atlases a WHERE a.workspace = w.row_id)`, which, at, loci.MaxActivity)
	}
	at := 0
	err := t.QueryFew(`SELECT `+count("created_at", "x.status IN (0, 1, 2)")+`, `+
		count("verified_at", "x.verified_at > 0")+`, `+count("updated_at", "x.status = 2")+`
		FROM (SELECT CAST(list.value AS BIGINT) AS start FROM `+fmt.Sprintf(t.Conn.Dialect.StringRows, 3)+`) AS s
		CROSS JOIN workspaces e`+t.MembershipJoin("e.row_id")+`WHERE e.id = ?2 ORDER BY s.start`,
		[]any{workspaceID, sqldb.EncodeInts(starts), week}, func(r sqldb.Row) error {
			x := &list[at]
			at++
			err := r.Scan(&x.Written, &x.Verified, &x.Superseded)
			x.Written, x.Verified = min(x.Written, loci.MaxActivity), min(x.Verified, loci.MaxActivity)
			x.Superseded = min(x.Superseded, loci.MaxActivity)
			return err
		})
	return list, err
}
