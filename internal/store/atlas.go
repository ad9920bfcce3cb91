package store

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

const atlasColumns = ` a.id, w.id, a.name, a.keywords, a.description, a.inbox, a.archived, a.created_at, a.updated_at,
	a.memories + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c WHERE c.workspace = a.workspace
	AND c.atlas = a.row_id) `

func scanAtlas(r sqldb.Row) (a loci.Atlas, err error) {
	var archived bool
	var keywords string
	err = r.Scan(&a.ID, &a.WorkspaceID, &a.Name, &keywords, &a.Description, &a.Default, &archived, &a.CreatedAt,
		&a.UpdatedAt, &a.MemoryCount)
	if err != nil {
		return a, err
	}
	a.Status = accountdb.ContainerStatus(archived)
	a.Keywords, err = sqldb.DecodeStrings[string](keywords)
	return a, err
}

// AtlasRecord returns an atlas in the scope of the transaction.
func (t *Tx) AtlasRecord(id loci.ID) (loci.Atlas, error) {
	a, err := scanAtlas(t.row(`SELECT`+atlasColumns+`FROM atlases a`+t.membershipJoin("a.workspace")+
		`WHERE a.id = ?2`, id))
	return a, sqldb.MapNoRows(err)
}

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
	return queryPage(p, t.query, `SELECT`+atlasColumns+`FROM atlases a`+t.membershipJoin("a.workspace")+
		`WHERE (?2 = '' OR w.id = ?2) AND a.archived IN (?3, ?4) AND (a.created_at, a.id) < (?5, ?6)
			ORDER BY a.created_at DESC, a.id DESC LIMIT ?7`, scanAtlas, f.WorkspaceID, false, f.Archived)
}

// AddAtlas makes an atlas in the workspace, within the plan of its owner.
func (w *Workspace) AddAtlas(a loci.Atlas) (loci.Atlas, error) {
	if err := w.checkAtlasQuota(); err != nil {
		return a, err
	}
	a, err := w.t.addAtlas(w.rowID, a)
	a.WorkspaceID = w.id
	w.t.LinkResponse(a.ID)
	return a, err
}

// addAtlas inserts an atlas. If a concurrent call has made the Inbox of the workspace, it makes no other one.
func (t *Tx) addAtlas(workspace int64, a loci.Atlas) (loci.Atlas, error) {
	a.ID, a.CreatedAt, a.UpdatedAt, a.Status = loci.NewID(t.conn.Now.Std()), t.conn.Now, t.conn.Now,
		loci.ContainerActive
	_, err := t.exec(
		`INSERT INTO atlases (id, workspace, name, keywords, description, inbox, archived, memories, bytes,
			created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, ?8, ?8) ON CONFLICT (workspace) WHERE inbox DO NOTHING`, a.ID,
		workspace, a.Name, sqldb.EncodeStrings(a.Keywords), a.Description, a.Default, false, a.CreatedAt)
	return a, err
}

// An Atlas is the handle of an atlas that the actor may write to.
type Atlas struct {
	t         *Tx
	rowID     int64
	id        loci.ID
	workspace Workspace
	archived  bool
}

const atlasHandleColumns = ` a.row_id, a.id, a.archived, w.row_id, w.id, w.name, w.personal_of IS NOT NULL, w.archived,
	w.secrets, m.role` + ownerColumns

func (a *Atlas) scanDest() []any {
	w := &a.workspace
	return append([]any{&a.rowID, &a.id, &a.archived, &w.rowID, &w.id, &w.name, &w.personal, &w.archived, &w.secrets,
		&w.role}, w.owner.scanDest()...)
}

// Atlas locks and returns an atlas. The actor must have at least a role in its workspace. Calls that ask for RoleMember
// share the lock, so that they add memories concurrently.
func (t *Tx) Atlas(id loci.ID, minimum loci.Role, p Purpose) (*Atlas, error) {
	how := "UPDATE"
	if minimum == loci.RoleMember {
		how = "KEY SHARE"
	}
	return t.openAtlas(id, minimum, p, t.conn.LockClause(how, "a, w, m"))
}

func (t *Tx) openAtlas(id loci.ID, minimum loci.Role, p Purpose, lock string) (*Atlas, error) {
	a := &Atlas{t: t, workspace: Workspace{t: t}}
	err := t.queryRow(`SELECT`+atlasHandleColumns+`FROM atlases a`+t.membershipJoin("a.workspace")+ownerJoin+
		`WHERE a.id = ?2`+lock, []any{id}, a.scanDest()...)
	if err = a.workspace.authorize(err, minimum); err == nil {
		err = a.accept(p)
	}
	return a, err
}

// DeleteAtlas deletes an atlas with its memories, as an admin. A dry run only counts them. A deletion locks the index
// before the atlas, as a flush does. It shares the lock of the workspace, which writers take before the atlas or after.
func (t *Tx) DeleteAtlas(id loci.ID, dryRun bool) (loci.Deleted, error) {
	if !dryRun {
		var workspace int64
		err := t.queryRow(`SELECT w.row_id FROM atlases a`+t.membershipJoin("a.workspace")+
			`WHERE a.id = ?2 AND m.role <> ?3`, []any{id, loci.RoleMember}, &workspace)
		if err == nil {
			err = indexdb.RaiseVersion(t.conn, workspace)
		}
		if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
			return loci.Deleted{}, err
		}
	}
	a, err := t.openAtlas(id, loci.RoleAdmin, InAnyState,
		t.conn.LockClause("UPDATE", "a")+t.conn.LockClause("KEY SHARE", "w, m"))
	if err != nil {
		return loci.Deleted{}, err
	}
	r, err := a.Record()
	if err != nil {
		return loci.Deleted{}, err
	}
	if r.Default && a.workspace.personal {
		return loci.Deleted{}, loci.Errorf(loci.CodeStateConflict,
			"The Inbox of a personal workspace cannot be deleted: it takes memories without an atlas.")
	}
	if dryRun {
		var files int
		err := t.conn.QueryRow(`SELECT count(*) FROM attachments x WHERE x.atlas = ?1 AND x.active`, []any{a.rowID},
			[]any{&files})
		return loci.NewDryRun(r.MemoryCount, files), err
	}
	if err := t.deleteResponses(a.id); err != nil {
		return loci.Deleted{}, err
	}
	return loci.Deleted{}, t.store.eraser.DeleteAtlas(t.conn, a.rowID, a.workspace.rowID, a.id)
}

// WorkspaceID returns the id of the atlas's workspace.
func (a *Atlas) WorkspaceID() loci.ID { return a.workspace.id }

// ID returns the id of the atlas.
func (a *Atlas) ID() loci.ID { return a.id }

// Secrets returns the workspace's policy for credentials in texts.
func (a *Atlas) Secrets() loci.SecretsPolicy { return a.workspace.secrets }

// lock takes a lock on a name within the atlas until the commit.
func (a *Atlas) lock(name string) error { return a.t.conn.AdvisoryLock(string(a.id) + "/" + name) }

// accept returns state_conflict where the atlas or its workspace refuses a purpose.
func (a *Atlas) accept(p Purpose) error {
	if p.changes() {
		if _, err := loci.AtlasStates.Apply(accountdb.ContainerStatus(a.archived), "changed"); err != nil {
			return err
		}
	}
	if p.changes() || p == ToMove {
		return a.workspace.accept(ToChange)
	}
	return nil
}

// Record returns the present record of the atlas.
func (a *Atlas) Record() (loci.Atlas, error) { return a.t.AtlasRecord(a.id) }

// Update writes name, keywords and description of the record that change makes of the present one.
func (a *Atlas) Update(change func(*loci.Atlas)) (loci.Atlas, error) {
	r, err := a.Record()
	if err == nil {
		err = a.t.checkIfMatch(r.EntityTag())
	}
	if err != nil {
		return r, err
	}
	change(&r)
	_, err = a.t.exec(
		`UPDATE atlases SET name = ?2, keywords = ?3, description = ?4, updated_at = ?5 WHERE row_id = ?1`,
		a.rowID, r.Name, sqldb.EncodeStrings(r.Keywords), r.Description, max(a.t.conn.Now, r.UpdatedAt+1))
	if err != nil {
		return r, err
	}
	return a.Record()
}

// SetArchived archives or restores an atlas of an active workspace.
func (a *Atlas) SetArchived(archived bool) (r loci.Atlas, err error) {
	if _, err := loci.AtlasStates.Apply(accountdb.ContainerStatus(a.archived), archivingMove(archived)); err != nil {
		return r, err
	}
	a.t.LinkResponse(a.id)
	_, err = a.t.exec(`UPDATE atlases SET archived = ?2,`+accountdb.Touch+`WHERE row_id = ?1`, a.rowID, archived,
		a.t.conn.Now)
	if err != nil {
		return r, err
	}
	return a.Record()
}

// A RoutingTargets is the handle of a workspace for a new memory without a given atlas. It holds the atlases that
// routing may choose.
type RoutingTargets struct {
	t         *Tx
	workspace Workspace
	inbox     *Atlas
	atlases   []*Atlas
	Keywords  [][]string // of the atlases with keywords, oldest first
}

// RoutingTargets returns the handle of a workspace; without an id it is the default one.
func (t *Tx) RoutingTargets(workspaceID loci.ID) (*RoutingTargets, error) {
	s := &RoutingTargets{t: t, workspace: Workspace{t: t}}
	which, args, err := `WHERE e.id = ?2`, []any{workspaceID}, error(nil)
	if workspaceID == "" {
		if which, args, err = t.defaultWorkspace(); err != nil {
			return nil, err
		}
	}
	w := &s.workspace
	err = t.queryFew(
		`SELECT a.row_id, a.id, a.keywords, a.inbox, w.row_id, w.id, w.name, w.archived, w.secrets, m.role`+
			ownerColumns+`FROM workspaces e`+t.membershipJoin("e.row_id")+ownerJoin+
			`JOIN atlases a ON a.workspace = e.row_id AND NOT a.archived AND (a.inbox OR a.keywords <> '[]') `+which+
			` ORDER BY a.created_at, a.id`+t.conn.LockClause("KEY SHARE", "w, m, a"), args, s.scanRow)
	if err == nil && w.rowID == 0 { // a team has no Inbox before its first use
		err = t.queryRow(`SELECT w.row_id, w.id, w.name, w.archived, w.secrets, m.role`+ownerColumns+
			`FROM workspaces e`+t.membershipJoin("e.row_id")+ownerJoin+which+t.conn.LockClause("KEY SHARE", "w, m"),
			args, append([]any{&w.rowID, &w.id, &w.name, &w.archived, &w.secrets, &w.role}, w.owner.scanDest()...)...)
	}
	if err = w.authorize(err, loci.RoleMember); err == nil {
		err = w.accept(ToChange)
	}
	return s, err
}

func (s *RoutingTargets) scanRow(r sqldb.Row) error {
	var inbox bool
	var keywords string
	a, w := &Atlas{t: s.t}, &s.workspace
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

// checkAtlasQuota returns quota_exceeded where a user has no room for that many more atlases.
func (t *Tx) checkAtlasQuota(u owner, more int64) error {
	return t.checkQuota(t.plan(u).Atlases, u.id, more,
		`SELECT count(*) FROM members m JOIN atlases a ON a.workspace = m.workspace WHERE m.user_id = ?1
			AND m.role = 'owner'`, "atlases")
}

// checkAtlasQuota returns quota_exceeded where the owner has no room for one more atlas.
func (w *Workspace) checkAtlasQuota() error {
	o, err := w.presentOwner()
	if err == nil {
		err = w.t.checkAtlasQuota(o, 1)
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
	if err := s.workspace.checkAtlasQuota(); err != nil {
		return nil, err
	}
	if _, err := s.t.addAtlas(s.workspace.rowID, loci.Atlas{Name: loci.InboxName, Default: true}); err != nil {
		return nil, err
	}
	a := &Atlas{t: s.t, workspace: s.workspace}
	err := s.t.conn.QueryRow(`SELECT a.row_id, a.id, a.archived FROM atlases a WHERE a.workspace = ?1 AND a.inbox`,
		[]any{s.workspace.rowID}, []any{&a.rowID, &a.id, &a.archived})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil, sqldb.NewBusyError(err)
	}
	return a, err
}
