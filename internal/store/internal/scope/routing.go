package scope

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A RoutingTargets is the handle of a workspace for a new memory without a given atlas. It holds the atlases that
// routing may choose.
type RoutingTargets struct {
	scope     *Scope
	workspace Workspace
	inbox     *Atlas
	atlases   []*Atlas
	Keywords  [][]string // of the atlases with keywords, oldest first
}

// RoutingTargets returns the handle of a workspace; without an id it is the default one.
func (t Tx) RoutingTargets(workspaceID loci.ID) (*RoutingTargets, error) {
	in := t.scope
	s := &RoutingTargets{scope: in, workspace: Workspace{scope: in}}
	which, args, err := `WHERE e.id = ?2`, []any{workspaceID}, error(nil)
	if workspaceID == "" {
		if which, args, err = in.DefaultCondition(); err != nil {
			return nil, err
		}
	}
	w := &s.workspace
	err = in.QueryFew(
		`SELECT a.row_id, a.id, a.keywords, a.inbox, w.row_id, w.id, w.name, w.archived, w.secrets, m.role`+
			ownerColumns+`FROM workspaces e`+in.MembershipJoin("e.row_id")+OwnerJoin+
			`JOIN atlases a ON a.workspace = e.row_id AND NOT a.archived AND (a.inbox OR a.keywords <> '[]') `+which+
			` ORDER BY a.created_at, a.id`+in.Conn.LockClause("KEY SHARE", "w, m, a"), args, s.scanRow)
	if err == nil && w.rowID == 0 { // a team has no Inbox before its first use
		err = in.QueryRow(`SELECT w.row_id, w.id, w.name, w.archived, w.secrets, m.role`+ownerColumns+
			`FROM workspaces e`+in.MembershipJoin("e.row_id")+OwnerJoin+which+in.Conn.LockClause("KEY SHARE", "w, m"),
			args, append([]any{&w.rowID, &w.id, &w.name, &w.archived, &w.secrets, &w.role}, w.owner.scanDest()...)...)
	}
	if err = w.Authorize(err, loci.RoleMember); err == nil {
		err = w.Accept(ToChange)
	}
	return s, err
}

func (s *RoutingTargets) scanRow(r sqldb.Row) error {
	var inbox bool
	var keywords string
	a, w := &Atlas{scope: s.scope}, &s.workspace
	if err := r.Scan(append([]any{&a.rowID, &a.id, &keywords, &inbox, &w.rowID, &w.id, &w.name, &w.archived, &w.secrets,
		&w.role}, w.owner.scanDest()...)...); err != nil {
		return err
	}
	a.workspace = *w
	if inbox {
		s.inbox = a
	}
	list, err := sqldb.DecodeStrings[string](keywords)
	if len(list) > 0 {
		s.atlases, s.Keywords = append(s.atlases, a), append(s.Keywords, list)
	}
	return err
}

// Atlas returns the atlas at an index in Keywords, or the Inbox for -1. The Inbox of a team is made at its first use,
// within the owner's plan.
func (s *RoutingTargets) Atlas(i int) (*Atlas, error) {
	if i >= 0 {
		return s.atlases[i], nil
	}
	if s.inbox != nil {
		return s.inbox, nil
	}
	if err := s.workspace.CheckAtlasQuota(); err != nil {
		return nil, err
	}
	if _, err := s.scope.AddAtlas(s.workspace.rowID, loci.Atlas{Name: loci.InboxName, Default: true}); err != nil {
		return nil, err
	}
	a := &Atlas{scope: s.scope, workspace: s.workspace}
	err := s.scope.Conn.QueryRow(`SELECT a.row_id, a.id, a.archived FROM atlases a WHERE a.workspace = ?1 AND a.inbox`,
		[]any{s.workspace.rowID}, []any{&a.rowID, &a.id, &a.archived})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil, sqldb.NewBusyError(err)
	}
	return a, err
}
