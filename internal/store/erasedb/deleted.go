package erasedb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// A Deleted is a deleted atlas or workspace that is not erased yet, or the first of all such sessions.
type Deleted struct {
	Kind string // of the job that erases it
	ID   loci.ID
}

// String names the record.
func (d Deleted) String() string {
	switch d.Kind {
	case AtlasJob:
		return "the deleted atlas"
	case sessiondb.EraseJob:
		return "the deleted sessions"
	}
	return "the deleted workspace"
}

const deletedQuery = `SELECT d.kind, d.id FROM (
	SELECT '` + AtlasJob + `' AS kind, a.id AS id FROM atlases a WHERE a.workspace IS NULL
	UNION ALL SELECT '` + WorkspaceJob + `', w.id FROM workspaces w WHERE NOT EXISTS (SELECT 1 FROM members m
		WHERE m.workspace = w.row_id)) AS d `

// deletedSessionsQuery returns the first deleted session: one job erases all of them.
const deletedSessionsQuery = `SELECT '` + sessiondb.EraseJob + `', d.id FROM (SELECT s.id AS id FROM sessions s
	WHERE s.workspace IS NULL ORDER BY s.row_id LIMIT 1) AS d `

// WithoutJob returns the deleted records that no job erases.
func WithoutJob(t *sqldb.Tx) ([]Deleted, error) {
	list, err := queryDeleted(t, deletedQuery+`WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = d.kind
		AND j.subject = d.id) ORDER BY d.id`)
	if err != nil {
		return nil, err
	}
	sessions, err := queryDeleted(t, deletedSessionsQuery+`WHERE NOT EXISTS (SELECT 1 FROM jobs j
		WHERE j.kind = '`+sessiondb.EraseJob+`')`)
	return append(list, sessions...), err
}

func queryDeleted(t *sqldb.Tx, q string) (list []Deleted, err error) {
	err = t.Query(q, nil, func(r sqldb.Row) error {
		var d Deleted
		err := r.Scan(&d.Kind, &d.ID)
		list = append(list, d)
		return err
	})
	return list, err
}

// AddJob adds the job that erases a deleted record.
func (e *Eraser) AddJob(t *sqldb.Tx, d Deleted) error { return e.jobs.Add(t, d.Kind, string(d.ID)) }

// CountAtlases counts the deleted atlases, their memories and the attachments of these.
func CountAtlases(t *sqldb.Tx) (atlases, memories, attachments int64, err error) {
	err = t.QueryRow(`SELECT (SELECT count(*) FROM atlases a WHERE a.workspace IS NULL), (SELECT count(*) FROM atlases a
		JOIN memories e ON e.atlas = a.row_id WHERE a.workspace IS NULL), (SELECT count(*) FROM atlases a
		JOIN memories e ON e.atlas = a.row_id JOIN attachments x ON x.memory = e.row_id WHERE a.workspace IS NULL)`,
		nil, []any{&atlases, &memories, &attachments})
	return atlases, memories, attachments, err
}

// CountSessions counts the deleted sessions.
func CountSessions(t *sqldb.Tx) (n int64, err error) {
	return n, t.QueryRow(`SELECT count(*) FROM sessions WHERE workspace IS NULL`, nil, []any{&n})
}

// EraseSessions erases all deleted sessions now.
func (e *Eraser) EraseSessions(ctx context.Context) error {
	for {
		err := e.eraseSessions(ctx, time.Now().Add(maxRun), sessiondb.DeletedCondition)
		if !errors.Is(err, jobdb.ErrMore) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// EraseAll erases all deleted sessions, atlases and workspaces now. Their jobs find nothing left.
func (e *Eraser) EraseAll(ctx context.Context) error {
	list, err := sqldb.SystemRead(ctx, e.db, "list deleted atlases and workspaces",
		func(t *sqldb.Tx) ([]Deleted, error) { return queryDeleted(t, deletedQuery) })
	for _, d := range list {
		of := deletedAtlas
		if d.Kind == WorkspaceJob {
			of = deletedWorkspace
		}
		for err = jobdb.ErrMore; errors.Is(err, jobdb.ErrMore) && ctx.Err() == nil; {
			err = e.erase(ctx, of, string(d.ID))
		}
		if err != nil {
			return fmt.Errorf("erase %s %s: %w", d, d.ID, err)
		}
	}
	if err != nil {
		return err
	}
	return e.EraseSessions(ctx)
}
