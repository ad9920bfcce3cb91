package integrity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store/erasedb"
	"github.com/loci-memory/loci/internal/store/minhashdb"
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
		Inconsistency{Kind: InconsistentStructure}.count()
		c.db.Log.Error("acknowledged writes are gone: see loci admin check", "noticed", since, "cause",
			sqlite.LostCommits)
	}
	return err
}

// checkUnowned checks the data that belong to no workspace.
func (c *Checker) checkUnowned(ctx context.Context, sum *Report, o Options) error {
	for _, check := range []func(context.Context, *Report, Options) error{c.checkPurge, c.checkCommits,
		c.checkBandsOfNone, c.checkDeleted} {
		if err := check(ctx, sum, o); err != nil {
			return err
		}
	}
	return nil
}

// checkPurge reports a purge that was cut off. A repair finishes it.
func (c *Checker) checkPurge(ctx context.Context, sum *Report, o Options) error {
	mark, err := c.purger.Pending(ctx)
	if err != nil || mark == "" {
		return err
	}
	f := Inconsistency{Kind: InconsistentRows, derived: true,
		Detail: "a purge was cut off: bytes of what it erased may be in free space"}
	if o.Repair {
		if err := c.purger.Finish(ctx); err != nil {
			return err
		}
		f.Repair, f.Repaired = "finished it", true
	}
	sum.add(f)
	return nil
}

// checkCommits reports lost commits as an inconsistency. A repair deletes the record, and restores nothing.
func (c *Checker) checkCommits(ctx context.Context, sum *Report, o Options) error {
	since, err := c.lostCommitsSince(ctx)
	if since == "" {
		return err
	}
	f := Inconsistency{Kind: InconsistentStructure, ID: sqlite.FileName + "-wal",
		Detail: "acknowledged writes are gone, which a start noticed at " + since + ": " + sqlite.LostCommits}
	if o.Repair {
		err = c.repair(ctx, func(t *sqldb.Tx) error {
			_, err := t.Exec(`DELETE FROM metadata WHERE name = ?1`, sqlite.LostCommitsName)
			return err
		})
		f.Repair = "they are lost unless a backup has them; this is reported once"
	}
	sum.add(f)
	return err
}

// checkBandsOfNone reports the bands of workspaces that are gone. A repair deletes them.
func (c *Checker) checkBandsOfNone(ctx context.Context, sum *Report, o Options) error {
	counts := map[int64]int64{} // by workspace
	_, err := sqldb.SystemRead(ctx, c.db, "count rows without a workspace", func(t *sqldb.Tx) (loci.Empty, error) {
		return loci.Empty{}, t.ReadWithoutTimeout(func() error { return countBandsOfNone(t, counts) })
	})
	if err != nil || len(counts) == 0 {
		return err
	}
	n := int64(0)
	for _, count := range counts {
		n += count
	}
	f := Inconsistency{Kind: InconsistentBands, derived: true,
		Detail: fmt.Sprintf("%d rows are of workspaces that are gone", n)}
	if o.keeps(&f, "workspaces") {
		sum.add(f)
		return nil
	}
	return c.repairUnowned(sum, o, f, "removed them", func() error {
		for workspace := range counts {
			for more := true; more; {
				if err := c.repair(ctx, func(t *sqldb.Tx) (err error) {
					more, err = minhashdb.DeleteSome(t, workspace)
					return err
				}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// countBandsOfNone counts the bands of each workspace that is gone. Each query reads those of one workspace at most.
func countBandsOfNone(t *sqldb.Tx, counts map[int64]int64) error {
	for workspace := int64(math.MinInt64); ; {
		var exists bool
		err := t.QueryRow(`SELECT b.workspace, EXISTS (SELECT 1 FROM workspaces w WHERE w.row_id = b.workspace)
			FROM minhash_bands b WHERE b.workspace > ?1 ORDER BY b.workspace LIMIT 1`, []any{workspace},
			[]any{&workspace, &exists})
		if errors.Is(err, sqldb.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if exists {
			continue
		}
		var n int64
		if err = t.QueryRow(`SELECT count(*) FROM minhash_bands WHERE workspace = ?1`, []any{workspace},
			[]any{&n}); err != nil {
			return err
		}
		counts[workspace] = n
	}
}

// checkDeleted reports the deleted atlases, workspaces and sessions that no job erases. A repair adds the jobs.
func (c *Checker) checkDeleted(ctx context.Context, sum *Report, o Options) error {
	list, err := sqldb.SystemRead(ctx, c.db, "look for deleted rows without a job", erasedb.WithoutJob)
	for _, d := range list {
		f := Inconsistency{Kind: InconsistentRows, ID: string(d.ID), derived: true,
			Detail: "no background job erases " + d.String()}
		if o.keeps(&f, "atlases", "members", "sessions", "workspaces") {
			sum.add(f)
			continue
		}
		err = errors.Join(err, c.repairUnowned(sum, o, f, "added the job: a server erases it", func() error {
			return c.repair(ctx, func(t *sqldb.Tx) error { return c.eraser.AddJob(t, d) })
		}))
	}
	return err
}

// keeps reports whether a repair leaves an inconsistency as it is, and says why: rows of these tables are damaged or
// lost.
func (o Options) keeps(f *Inconsistency, tables ...string) bool {
	if !o.Repair || !slices.ContainsFunc(tables, func(name string) bool { return o.damaged[name] }) {
		return false
	}
	f.Repair = "could not be repaired: " + keepAdvice
	return true
}

// repairUnowned adds an inconsistency, after its repair f if that is wanted.
func (c *Checker) repairUnowned(sum *Report, o Options, x Inconsistency, done string, f func() error) error {
	var err error
	if o.Repair {
		err = f()
	}
	switch reason := sqldb.UnreadableReason(err); {
	case reason != "":
		x.Repair, err = "could not be repaired: "+reason, nil
	case o.Repair && err == nil:
		x.Repair, x.Repaired = done, true
	}
	sum.add(x)
	return err
}

// repair runs a repair in a transaction.
func (c *Checker) repair(ctx context.Context, f func(*sqldb.Tx) error) error {
	_, err := sqldb.System(ctx, c.db, "repair rows of no workspace", func(t *sqldb.Tx) (loci.Empty, error) {
		return loci.Empty{}, f(t)
	})
	return err
}
