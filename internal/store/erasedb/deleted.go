package erasedb

import (
	"context"
	"errors"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/jobdb"
)

// A Deleted is a deleted atlas or workspace that is not erased yet.
type Deleted struct {
	Kind string // of the job that erases it
	ID   loci.ID
}

// String names the record.
func (d Deleted) String() string {
	if d.Kind == AtlasJob {
		return "the deleted atlas"
	}
	return "the deleted workspace"
}

const deletedQuery = `SELECT d.kind, d.id FROM (
	SELECT '` + AtlasJob + `' AS kind, a.id AS id FROM atlases a WHERE a.workspace IS NULL
	UNION ALL SELECT '` + WorkspaceJob + `', w.id FROM workspaces w WHERE NOT EXISTS (SELECT 1 FROM members m
		WHERE m.workspace = w.row_id)) AS d `

// WithoutJob returns the deleted atlases and workspaces that no job erases.
func WithoutJob(t *sqldb.Tx) ([]Deleted, error) {
	return queryDeleted(t, deletedQuery+`WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = d.kind
		AND j.subject = d.id) ORDER BY d.id`)
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

// CountAtlases counts the deleted atlases and their memories.
func CountAtlases(t *sqldb.Tx) (atlases, memories int64, err error) {
	err = t.QueryRow(`SELECT (SELECT count(*) FROM atlases a WHERE a.workspace IS NULL), (SELECT count(*) FROM atlases a
		JOIN memories e ON e.atlas = a.row_id WHERE a.workspace IS NULL)`, nil, []any{&atlases, &memories})
	return atlases, memories, err
}

// EraseAll erases all deleted atlases and workspaces now. Their jobs find nothing left.
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
	return err
}
