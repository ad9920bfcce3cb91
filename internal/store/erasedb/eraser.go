// Package erasedb deletes atlases, workspaces and sessions. A deletion commits a mark that hides all memories, sessions
// and messages at once. Background jobs erase the rows in small transactions, so that other writers do not wait for a
// large atlas.
package erasedb

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// Kinds of jobs. Their subject is the id of the atlas or the workspace. One of sessiondb.EraseJob erases all deleted
// sessions.
const (
	AtlasJob     = "erase_atlas"
	WorkspaceJob = "erase_workspace"
)

// An Eraser deletes atlases and workspaces of a database.
type Eraser struct {
	db    *sqldb.Handle
	index *indexdb.Index
	jobs  *jobdb.Queue
}

// New returns an eraser, and registers the handlers of its jobs.
func New(db *sqldb.Handle, index *indexdb.Index, jobs *jobdb.Queue) *Eraser {
	e := &Eraser{db, index, jobs}
	for kind, of := range map[string]target{AtlasJob: deletedAtlas, WorkspaceJob: deletedWorkspace} {
		jobs.Handle(kind, func(ctx context.Context, j jobdb.Job) error { return e.erase(ctx, of, j.Subject) })
	}
	jobs.Handle(sessiondb.EraseJob, func(ctx context.Context, _ jobdb.Job) error {
		return e.eraseSessions(ctx, time.Now().Add(maxRun), sessiondb.DeletedCondition)
	})
	return e
}

// DeleteAtlas marks an atlas of a workspace as deleted, and adds the job that erases it. The caller has raised the
// version of the index and then locked the atlas, in the order of a flush.
func (e *Eraser) DeleteAtlas(t *sqldb.Tx, rowID, workspace int64, id loci.ID) error {
	if err := e.index.DeleteAtlas(t, workspace, rowID); err != nil {
		return err
	}
	if _, err := t.Exec(`UPDATE atlases SET workspace = NULL, inbox = ?2, name = '', keywords = ?3, description = '',
		updated_at = ?4 WHERE row_id = ?1`, rowID, false, sqldb.EmptyList, t.Now); err != nil {
		return err
	}
	return e.jobs.Add(t, AtlasJob, string(id))
}

// DeleteWorkspace marks a locked workspace as deleted, and adds the job that erases it. Without members no query with a
// scope finds it.
func (e *Eraser) DeleteWorkspace(t *sqldb.Tx, rowID int64, id loci.ID) error {
	for _, q := range []string{`DELETE FROM invitations WHERE workspace = ?1`,
		`DELETE FROM members WHERE workspace = ?1`,
		`UPDATE workspaces SET personal_of = NULL, name = '' WHERE row_id = ?1`} {
		if _, err := t.Exec(q, rowID); err != nil {
			return err
		}
	}
	return e.jobs.Add(t, WorkspaceJob, string(id))
}

// A target is a kind of record that is marked as deleted.
type target struct {
	column string // of memories
	rowID  string // SQL: the row id of the marked record with the id ?1, or NULL
	erase  string // deletes the record without memories
}

var (
	deletedAtlas = target{"atlas", `(SELECT a.row_id FROM atlases a WHERE a.id = ?1 AND a.workspace IS NULL)`,
		`DELETE FROM atlases WHERE id = ?1 AND workspace IS NULL`}
	deletedWorkspace = target{"workspace", `(SELECT w.row_id FROM workspaces w WHERE w.id = ?1 AND NOT EXISTS
		(SELECT 1 FROM members m WHERE m.workspace = w.row_id))`,
		`DELETE FROM workspaces WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM members m
			WHERE m.workspace = workspaces.row_id)`}
)

// A job runs for maxRun, and then lets others of its kind run. A transaction erases as many memories as batchTime
// allows, because other writers wait for it. The pause after it is as long as it was.
const (
	maxRun    = 20 * time.Second
	batchTime = 10 * time.Millisecond
	minBatch  = 8
	maxBatch  = 512
	maxBytes  = 4 << 20 // of the texts of a batch
)

// erase erases the memories of a target in batches, its sessions and messages, and then its own row.
func (e *Eraser) erase(ctx context.Context, of target, id string) error {
	end := time.Now().Add(maxRun)
	for size := minBatch; ; {
		b, err := e.readBatch(ctx, of, id, size)
		var took time.Duration
		switch {
		case err != nil:
		case len(b.memories) == 0:
			if err = e.eraseSessions(ctx, end, of.column+` = `+of.rowID, id); err == nil {
				err = e.eraseMessages(ctx, end, of, id)
			}
			if err != nil {
				return err
			}
			_, err = sqldb.System(ctx, e.db, "erase a deleted atlas or workspace",
				func(t *sqldb.Tx) (int64, error) { return t.Exec(of.erase, id) })
			return err
		default:
			took, err = e.eraseBatch(ctx, b)
		}
		if ctx.Err() != nil {
			return jobdb.ErrMore
		}
		if err != nil {
			return err
		}
		if took > 0 {
			size = min(max(int(time.Duration(size)*batchTime/took), minBatch), maxBatch)
		}
		contextio.Sleep(ctx, took)
		if time.Now().After(end) {
			return jobdb.ErrMore
		}
	}
}

// eraseSessions erases the sessions of a condition, or returns ErrMore.
func (e *Eraser) eraseSessions(ctx context.Context, end time.Time, condition string, args ...any) error {
	more, err := sessiondb.Erase(ctx, e.db, end, condition, args...)
	if err == nil && more {
		err = jobdb.ErrMore
	}
	return err
}

// eraseMessages erases the messages of a deleted workspace, or returns ErrMore. An atlas has none.
func (e *Eraser) eraseMessages(ctx context.Context, end time.Time, of target, id string) error {
	if of != deletedWorkspace {
		return nil
	}
	more, err := messagedb.Erase(ctx, e.db, end, `x.workspace = `+of.rowID, id)
	if err == nil && more {
		err = jobdb.ErrMore
	}
	return err
}

// A memory is a row that is to be erased.
type memory struct {
	rowID, workspace, atlas int64
	id                      loci.ID
	supersededBy            loci.ID
	supersedes              []loci.ID
	bands                   []int64 // of an active memory
}

// A batch is the memories of one transaction.
type batch struct {
	memories []memory
	rowIDs   []int64
	ids      []loci.ID
}

// readBatch reads the newest memories of a target, and computes their bands before other writers wait. No writer can
// change them.
func (e *Eraser) readBatch(ctx context.Context, of target, id string, size int) (b batch, err error) {
	var texts []string
	b, err = sqldb.SystemRead(ctx, e.db, "read memories to erase", func(t *sqldb.Tx) (b batch, err error) {
		texts = nil
		bytes := 0
		err = t.Query(`SELECT e.row_id, e.workspace, e.atlas, e.id, e.superseded_by, e.supersedes,
			CASE WHEN e.status = 0 THEN e.content ELSE '' END FROM memories e WHERE e.`+of.column+` = `+of.rowID+`
			ORDER BY e.status DESC, e.created_at DESC, e.id DESC LIMIT ?2`, []any{id, size}, func(r sqldb.Row) error {
			var m memory
			var supersedes, text string
			err := r.Scan(&m.rowID, &m.workspace, &m.atlas, &m.id, &m.supersededBy, &supersedes, &text)
			if err != nil {
				return err
			}
			m.supersedes, _ = sqldb.DecodeStrings[loci.ID](supersedes) // damaged links end with the memory
			b.memories, texts = append(b.memories, m), append(texts, text)
			b.rowIDs, b.ids = append(b.rowIDs, m.rowID), append(b.ids, m.id)
			if bytes += len(text); bytes > maxBytes {
				return sqldb.ErrStop
			}
			return nil
		})
		return b, err
	})
	for i, text := range texts {
		b.memories[i].bands = minhash.Bands(text)
	}
	return b, err
}

// eraseBatch deletes the memories of a batch and the data that are derived from them. It returns the time of the
// transaction without its commit.
func (e *Eraser) eraseBatch(ctx context.Context, b batch) (took time.Duration, err error) {
	return sqldb.System(ctx, e.db, "erase memories", func(t *sqldb.Tx) (time.Duration, error) {
		began := time.Now()
		err := b.erase(t, e.jobs)
		return time.Since(began), err
	})
}
