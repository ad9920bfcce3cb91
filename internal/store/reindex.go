package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A reindexer brings the keyword indexes of workspaces to the analyzer of this
// program, in the background. The documents of the one before answer meanwhile.
type reindexer struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// start looks for what is to do, and does it without being waited for.
func (r *reindexer) start(ctx context.Context, s *Store) error {
	if _, err := s.nextOutdatedIndex(ctx); errors.Is(err, sqldb.ErrNoRows) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, r.cancel = context.WithCancel(context.Background())
	r.done.Go(func() {
		for pause := time.Second; ; pause = min(2*pause, time.Minute) {
			err := s.reindexOutdated(ctx)
			if err == nil || ctx.Err() != nil {
				return
			}
			s.db.Log.Error("renew the keyword index", "err", err)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

func (r *reindexer) stop() {
	if r.cancel != nil {
		r.cancel()
	}
	r.done.Wait()
}

// reindexBatchSize is how many memories are analyzed anew in one transaction.
const reindexBatchSize = 200

// reindexOutdated indexes all memories anew whose workspaces have an index of an earlier
// analyzer. A newer one stays: its program knows more.
func (s *Store) reindexOutdated(ctx context.Context) error {
	for {
		workspace, err := s.nextOutdatedIndex(ctx)
		if errors.Is(err, sqldb.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = s.reindexWorkspace(ctx, workspace)
		}
		if err != nil {
			return err
		}
	}
}

// nextOutdatedIndex finds a workspace with an index of an earlier analyzer.
func (s *Store) nextOutdatedIndex(ctx context.Context) (workspace int64, err error) {
	return SystemRead(ctx, s, "look for indexes of an earlier analyzer", func(t *SystemTx) (rowID int64, err error) {
		return rowID, t.t.conn.QueryRow(
			`SELECT workspace FROM keyword_indexes WHERE analyzer < ?1 ORDER BY analyzer, workspace LIMIT 1`,
			[]any{analysis.Version}, []any{&rowID})
	})
}

func (s *Store) reindexWorkspace(ctx context.Context, workspace int64) error {
	// Whatever is written from now on is analyzed by this program.
	rowIDs, err := SystemRead(ctx, s, "list memories to index anew", func(t *SystemTx) (list []int64, err error) {
		err = t.t.conn.Query(`SELECT row_id FROM memories WHERE workspace = ?1`, []any{workspace},
			sqldb.ScanInts(&list))
		return list, err
	})
	for some := range slices.Chunk(rowIDs, reindexBatchSize) {
		if err == nil {
			_, err = System(ctx, s, "index memories anew", func(t *SystemTx) (string, error) {
				return t.reindex(workspace, some...)
			})
		}
	}
	if err != nil {
		return err
	}
	_, err = System(ctx, s, "know that an index is of this analyzer", func(t *SystemTx) (int64, error) {
		return t.t.exec(`UPDATE keyword_indexes SET analyzer = ?2 WHERE workspace = ?1`, workspace,
			analysis.Version)
	})
	return err
}
