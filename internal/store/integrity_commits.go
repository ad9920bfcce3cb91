package store

import (
	"context"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// lostCommitsSince returns when a start found that acknowledged writes are gone, or nothing.
func (s *Store) lostCommitsSince(ctx context.Context) (string, error) {
	since, err := SystemRead(ctx, s, "look for lost commits", func(t *SystemTx) (since string, err error) {
		err = t.t.conn.QueryRow(`SELECT value FROM metadata WHERE name = ?1`, []any{sqldb.LostCommitsName},
			[]any{&since})
		return since, err
	})
	if errors.Is(err, sqldb.ErrNoRows) {
		return "", nil
	}
	return since, err
}

// reportLostCommits reports lost commits to the log and the metrics, at each start until a
// repair deletes the note.
func (s *Store) reportLostCommits(ctx context.Context) error {
	since, err := s.lostCommitsSince(ctx)
	if since != "" {
		inconsistencyCount.Add(1)
		unrepairableCount.Add(1)
		s.db.Log.Error("acknowledged writes are gone: see loci admin check", "noticed", since, "cause",
			sqldb.LostCommits)
	}
	return err
}

// inspectCommits reports lost commits as an inconsistency. A repair deletes the note and
// restores nothing.
func (s *Store) inspectCommits(ctx context.Context, sum *IntegrityReport, o IntegrityOptions) error {
	since, err := s.lostCommitsSince(ctx)
	if since == "" {
		return err
	}
	f := Inconsistency{Kind: InconsistentStructure, ID: sqldb.SQLiteFileName + "-wal",
		Detail: "acknowledged writes are gone, which a start noticed at " + since + ": " + sqldb.LostCommits}
	if o.Repair {
		_, err = System(ctx, s, "mark lost commits as inspected", func(t *SystemTx) (loci.Empty, error) {
			_, err := t.t.exec(`DELETE FROM metadata WHERE name = ?1`, sqldb.LostCommitsName)
			return loci.Empty{}, err
		})
		f.Repair = "nothing here has them, a backup may: this is not told again"
	}
	sum.Found++
	sum.Inconsistencies = append(sum.Inconsistencies, f)
	return err
}
