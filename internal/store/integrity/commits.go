package integrity

import (
	"context"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
)

// lostCommitsSince returns when lost commits were found, or "".
func (c *Checker) lostCommitsSince(ctx context.Context) (string, error) {
	since, err := sqldb.SystemRead(ctx, c.db, "look for lost commits",
		func(t *sqldb.Tx) (since string, err error) {
			err = t.QueryRow(`SELECT value FROM metadata WHERE name = ?1`, []any{sqlite.LostCommitsName},
				[]any{&since})
			return since, err
		})
	if errors.Is(err, sqldb.ErrNoRows) {
		return "", nil
	}
	return since, err
}

// ReportLostCommits reports lost commits to the log and to the metrics. Each start calls it until a repair deletes the
// record.
func (c *Checker) ReportLostCommits(ctx context.Context) error {
	since, err := c.lostCommitsSince(ctx)
	if since != "" {
		inconsistencyCount.Add(1)
		unrepairableCount.Add(1)
		c.db.Log.Error("acknowledged writes are gone: see loci admin check", "noticed", since, "cause",
			sqlite.LostCommits)
	}
	return err
}

// inspectCommits reports lost commits as an inconsistency. A repair deletes the record, and restores nothing.
func (c *Checker) inspectCommits(ctx context.Context, sum *Report, o Options) error {
	since, err := c.lostCommitsSince(ctx)
	if since == "" {
		return err
	}
	f := Inconsistency{Kind: InconsistentStructure, ID: sqlite.FileName + "-wal",
		Detail: "acknowledged writes are gone, which a start noticed at " + since + ": " + sqlite.LostCommits}
	if o.Repair {
		_, err = sqldb.System(ctx, c.db, "mark lost commits as inspected", func(t *sqldb.Tx) (loci.Empty, error) {
			_, err := t.Exec(`DELETE FROM metadata WHERE name = ?1`, sqlite.LostCommitsName)
			return loci.Empty{}, err
		})
		f.Repair = "they are lost unless a backup has them; this is reported once"
	}
	sum.add(f)
	return err
}
