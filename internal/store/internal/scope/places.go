package scope

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Places are the part of the actor's scope that a filter selects.
type Places struct {
	Workspaces []int64
	Atlas      int64 // 0 means all
}

// Resolve returns the workspaces and the atlas of a filter, or NotFound for one out of scope.
func (s *Scope) Resolve(workspaceID, atlasID loci.ID) (r Places, err error) {
	var workspace int64
	var id loci.ID
	switch {
	case atlasID != "":
		err = s.QueryRow(`SELECT a.row_id, w.row_id, w.id FROM atlases a`+s.MembershipJoin("a.workspace")+
			`WHERE a.id = ?2`, []any{atlasID}, &r.Atlas, &workspace, &id)
		r.Workspaces = []int64{workspace}
		if err == nil && workspaceID != "" && workspaceID != id {
			if _, err = s.WorkspaceRecord(workspaceID); err == nil {
				err = loci.Errorf(loci.CodeAtlasWorkspaceMismatch,
					"The atlas belongs to another workspace: leave workspace_id out, or name the workspace of the "+
						"atlas.")
			}
		}
	case workspaceID != "":
		err = s.QueryRow(`SELECT w.row_id FROM workspaces e`+s.MembershipJoin("e.row_id")+`WHERE e.id = ?2`,
			[]any{workspaceID}, &workspace)
		r.Workspaces = []int64{workspace}
	default:
		err = s.QueryFew(`SELECT w.row_id FROM`+s.MembershipSubquery()+`ORDER BY w.row_id`, nil,
			sqldb.ScanInts(&r.Workspaces))
	}
	return r, sqldb.MapNoRows(err)
}

// ResolveNew returns the workspace of a new memory. Without ids it is the default one.
func (s *Scope) ResolveNew(workspaceID, atlasID loci.ID) (Places, error) {
	if workspaceID != "" || atlasID != "" {
		return s.Resolve(workspaceID, atlasID)
	}
	which, args, err := s.DefaultCondition()
	var workspace int64
	if err == nil {
		err = s.QueryRow(`SELECT w.row_id FROM workspaces e`+s.MembershipJoin("e.row_id")+which, args, &workspace)
	}
	return Places{Workspaces: []int64{workspace}}, sqldb.MapNoRows(err)
}
