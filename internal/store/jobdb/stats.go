package jobdb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Stats count the jobs of a kind.
type Stats struct {
	Kind     string
	Waiting  int64     // including failed ones
	Failed   int64     // that wait for a retry
	OldestAt loci.Time // when the oldest was added
}

// ReadStats returns the figures of each kind that has jobs.
func ReadStats(t *sqldb.Tx) (list []Stats, err error) {
	err = t.Query(`SELECT kind, count(*), CAST(SUM(CASE WHEN error = '' THEN 0 ELSE 1 END) AS BIGINT), MIN(created_at)
		FROM jobs GROUP BY kind ORDER BY kind`, nil, func(r sqldb.Row) error {
		var s Stats
		err := r.Scan(&s.Kind, &s.Waiting, &s.Failed, &s.OldestAt)
		list = append(list, s)
		return err
	})
	return list, err
}
