package store

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// An AtlasFilter limits a list of atlases.
type AtlasFilter struct {
	WorkspaceID loci.ID // empty: all workspaces
	Archived    bool    // archived atlases too
}

// Atlases returns the atlases of a workspace, or of all in scope where the filter names none.
func (t *Tx) Atlases(f AtlasFilter, p page.Request) (list page.List[loci.Atlas], err error) {
	if f.WorkspaceID != "" {
		if _, err := t.WorkspaceRecord(f.WorkspaceID); err != nil {
			return list, err
		}
	}
	return scope.QueryPage(p, t.in.Query, `SELECT`+scope.AtlasColumns+`FROM atlases a`+t.in.MembershipJoin("a.workspace")+
		`WHERE (?2 = '' OR w.id = ?2) AND a.archived IN (?3, ?4) AND (a.created_at, a.id) < (?5, ?6)
			ORDER BY a.created_at DESC, a.id DESC LIMIT ?7`, scope.ScanAtlas, f.WorkspaceID, false, f.Archived)
}

// AddAtlas makes an atlas in the workspace, within the plan of its owner.
func (w *Workspace) AddAtlas(a loci.Atlas) (loci.Atlas, error) {
	if err := w.CheckAtlasQuota(); err != nil {
		return a, err
	}
	a, err := w.t.in.AddAtlas(w.RowID(), a)
	a.WorkspaceID = w.ID()
	w.t.LinkResponse(a.ID)
	return a, err
}

// An Atlas is the handle of an atlas.
type Atlas = scope.Atlas

// DeleteAtlas deletes an atlas with its memories, as an admin. A dry run only counts them. A deletion locks the index
// before the atlas, as a flush does. It shares the lock of the workspace, which writers take before the atlas or after.
func (t *Tx) DeleteAtlas(id loci.ID, dryRun bool) (loci.Deleted, error) {
	if !dryRun {
		var workspace int64
		err := t.in.QueryRow(`SELECT w.row_id FROM atlases a`+t.in.MembershipJoin("a.workspace")+
			`WHERE a.id = ?2 AND m.role <> ?3`, []any{id, loci.RoleMember}, &workspace)
		if err == nil {
			err = indexdb.RaiseVersion(t.in.Conn, workspace)
		}
		if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
			return loci.Deleted{}, err
		}
	}
	a, err := t.in.OpenAtlas(id, loci.RoleAdmin, InAnyState,
		t.in.Conn.LockClause("UPDATE", "a")+t.in.Conn.LockClause("KEY SHARE", "w, m"))
	if err != nil {
		return loci.Deleted{}, err
	}
	r, err := a.Record()
	if err != nil {
		return loci.Deleted{}, err
	}
	if r.Default && a.Workspace().IsPersonal() {
		return loci.Deleted{}, loci.Errorf(loci.CodeStateConflict,
			"The Inbox of a personal workspace cannot be deleted: it takes memories without an atlas.")
	}
	if dryRun {
		var files int
		err := t.in.Conn.QueryRow(`SELECT count(*) FROM attachments x WHERE x.atlas = ?1 AND x.active`, []any{a.RowID()},
			[]any{&files})
		return loci.NewDryRun(r.MemoryCount, files), err
	}
	if err := scope.DeleteResponses(t.in.Conn, a.ID()); err != nil {
		return loci.Deleted{}, err
	}
	a.NoteChange()
	return loci.Deleted{}, t.store.eraser.DeleteAtlas(t.in.Conn, a.RowID(), a.Workspace().RowID(), a.ID())
}
