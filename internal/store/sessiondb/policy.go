package sessiondb

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// readPolicy returns the policy of a user in a workspace. A deleted atlas is none.
func readPolicy(t *sqldb.Tx, userID loci.ID, workspace int64) (loci.Policy, error) {
	p := loci.DefaultPolicy()
	var off, paths string
	err := t.QueryRow(`SELECT p.enabled, p.paused, p.mode, COALESCE((SELECT a.id FROM atlases a
			WHERE a.row_id = p.atlas AND a.workspace = p.workspace), ''), p.adapters_off, p.min_length, p.exclude_paths,
			p.keep_turns_since > 0, p.created_at, p.updated_at
		FROM policies p WHERE p.user_id = ?1 AND p.workspace = ?2`, []any{userID, workspace},
		[]any{&p.Enabled, &p.Paused, &p.Mode, &p.AtlasID, &off, &p.MinLength, &paths, &p.KeepTurns,
			&p.CreatedAt, &p.UpdatedAt})
	if errors.Is(err, sqldb.ErrNoRows) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	list, err := sqldb.DecodeStrings[loci.Adapter](off)
	if err != nil {
		return p, err
	}
	p.Adapters = loci.NewAdapterSwitches(list)
	p.ExcludePaths, err = sqldb.DecodeStrings[string](paths)
	return p, err
}

// writePolicy replaces the policy of a user in a workspace; atlas is the row of its atlas, or 0.
func writePolicy(t *sqldb.Tx, userID loci.ID, workspace, atlas int64, p loci.Policy) error {
	var row *int64
	if atlas != 0 {
		row = &atlas
	}
	_, err := t.Exec(`INSERT INTO policies (user_id, workspace, enabled, paused, mode, atlas, adapters_off, min_length,
			exclude_paths, created_at, updated_at, keep_turns_since)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, CASE WHEN ?11 THEN CAST(?10 AS BIGINT) ELSE 0 END)
		ON CONFLICT (user_id, workspace) DO UPDATE SET enabled = excluded.enabled, paused = excluded.paused,
			mode = excluded.mode, atlas = excluded.atlas, adapters_off = excluded.adapters_off,
			min_length = excluded.min_length, exclude_paths = excluded.exclude_paths,
			keep_turns_since = CASE WHEN policies.keep_turns_since > 0 AND excluded.keep_turns_since > 0
				THEN policies.keep_turns_since ELSE excluded.keep_turns_since END,
			updated_at = CASE WHEN policies.updated_at < excluded.updated_at THEN excluded.updated_at
				ELSE policies.updated_at + 1 END`,
		userID, workspace, p.Enabled, p.Paused, p.Mode, row, sqldb.EncodeStrings(p.Adapters.Off()), p.MinLength,
		sqldb.EncodeStrings(p.ExcludePaths), t.Now, p.KeepTurns)
	return err
}

// Policy returns the automatic memory of the actor in a workspace; without an id it is the default one.
func Policy(h scope.Holder, workspaceID loci.ID) (loci.Policy, error) {
	t := scope.Of(h)
	which, args, err := `WHERE e.id = ?2`, []any{workspaceID}, error(nil)
	if workspaceID == "" {
		if which, args, err = t.DefaultCondition(); err != nil {
			return loci.Policy{}, err
		}
	}
	var rowID int64
	if err := t.QueryRow(`SELECT w.row_id FROM workspaces e`+t.MembershipJoin("e.row_id")+which, args,
		&rowID); err != nil {
		return loci.Policy{}, sqldb.MapNoRows(err)
	}
	return readPolicy(t.Conn, t.Actor.UserID, rowID)
}

// Policy returns the automatic memory of the session's user in its workspace.
func (v *View) Policy() (loci.Policy, error) {
	var rowID int64
	if err := v.in.Conn.QueryRow(`SELECT w.row_id FROM workspaces w WHERE w.id = ?1`, []any{v.WorkspaceID},
		[]any{&rowID}); err != nil {
		return loci.Policy{}, sqldb.MapNoRows(err)
	}
	return readPolicy(v.in.Conn, v.UserID, rowID)
}

// Policy returns the automatic memory of the session's user in its workspace.
func (s *Session) Policy() (loci.Policy, error) {
	return readPolicy(s.in.Conn, s.UserID, s.atlas.Workspace().RowID())
}

// PolicyWorkspace returns the handle of the workspace of a policy, to change it; without an id it is the default one.
func PolicyWorkspace(h scope.Holder, id loci.ID) (*scope.Workspace, error) {
	t := scope.Of(h)
	if id == "" {
		return t.DefaultWorkspace(loci.RoleMember)
	}
	return t.OpenWorkspace(loci.RoleMember, scope.ToChange, "KEY SHARE", `WHERE e.id = ?2`, id)
}

// SetPolicy replaces the automatic memory of the actor in the workspace.
func SetPolicy(w *scope.Workspace, p loci.Policy) (loci.Policy, error) {
	t := scope.Of(w)
	var atlas int64
	if p.AtlasID != "" {
		r, err := t.Resolve("", p.AtlasID)
		if err != nil {
			return p, err
		}
		if atlas = r.Atlas; r.Workspaces[0] != w.RowID() {
			return p, loci.NewError(loci.CodeAtlasWorkspaceMismatch)
		}
	}
	if err := writePolicy(t.Conn, t.Actor.UserID, w.RowID(), atlas, p); err != nil {
		return p, err
	}
	return readPolicy(t.Conn, t.Actor.UserID, w.RowID())
}
