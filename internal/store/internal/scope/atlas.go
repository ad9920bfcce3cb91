package scope

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// An Atlas is the handle of an atlas that the actor may write to.
type Atlas struct {
	scope     *Scope
	rowID     int64
	id        loci.ID
	workspace Workspace
	archived  bool
}

// AtlasHandleColumns are the columns of an atlas a, its workspace w, membership m and owner for AtlasHandleDest.
const AtlasHandleColumns = ` a.row_id, a.id, a.archived, w.row_id, w.id, w.name, w.personal_of IS NOT NULL, w.archived,
	w.secrets, m.role` + ownerColumns

// NewAtlas returns a handle, which a query fills that has AtlasHandleColumns.
func (s *Scope) NewAtlas() Atlas { return Atlas{scope: s, workspace: Workspace{scope: s}} }

// AtlasHandleDest returns the destinations of a scan of AtlasHandleColumns. The caller authorizes the handle then.
func AtlasHandleDest(a *Atlas) []any {
	w := &a.workspace
	return append([]any{&a.rowID, &a.id, &a.archived, &w.rowID, &w.id, &w.name, &w.personal, &w.archived, &w.secrets,
		&w.role}, w.owner.scanDest()...)
}

// Atlas locks and returns an atlas. The actor must have at least a role in its workspace. Calls that ask for RoleMember
// share the lock, so that they add memories concurrently.
func (t Tx) Atlas(id loci.ID, minimum loci.Role, p Purpose) (*Atlas, error) {
	how := "UPDATE"
	if minimum == loci.RoleMember {
		how = "KEY SHARE"
	}
	return t.scope.OpenAtlas(id, minimum, p, t.scope.Conn.LockClause(how, "a, w, m"))
}

// OpenAtlas returns the handle of an atlas that a clause locks.
func (s *Scope) OpenAtlas(id loci.ID, minimum loci.Role, p Purpose, lock string) (*Atlas, error) {
	a := s.NewAtlas()
	err := s.QueryRow(`SELECT`+AtlasHandleColumns+`FROM atlases a`+s.MembershipJoin("a.workspace")+OwnerJoin+
		`WHERE a.id = ?2`+lock, []any{id}, AtlasHandleDest(&a)...)
	if err = a.workspace.Authorize(err, minimum); err == nil {
		err = a.Accept(p)
	}
	return &a, err
}

// WorkspaceID returns the id of the atlas's workspace.
func (a *Atlas) WorkspaceID() loci.ID { return a.workspace.id }

func (a *Atlas) held() *Scope { return a.scope }

// Workspace returns the handle of the workspace.
func (a *Atlas) Workspace() *Workspace { return &a.workspace }

// RowID returns the key of the row.
func (a *Atlas) RowID() int64 { return a.rowID }

// Status returns whether the atlas is archived.
func (a *Atlas) Status() loci.ContainerStatus { return accountdb.ContainerStatus(a.archived) }

// ID returns the id of the atlas.
func (a *Atlas) ID() loci.ID { return a.id }

// Secrets returns the workspace's policy for credentials in texts.
func (a *Atlas) Secrets() loci.SecretsPolicy { return a.workspace.secrets }

// Lock takes a lock on a name within the atlas until the commit.
func (a *Atlas) Lock(name string) error { return a.scope.Conn.AdvisoryLock(string(a.id) + "/" + name) }

// Accept returns state_conflict where the atlas or its workspace refuses a purpose.
func (a *Atlas) Accept(p Purpose) error {
	if p.Changes() {
		if _, err := loci.AtlasStates.Apply(a.Status(), "changed"); err != nil {
			return err
		}
	}
	if p.Changes() || p == ToMove {
		return a.workspace.Accept(ToChange)
	}
	return nil
}

// AddAtlas inserts an atlas. If a concurrent call has made the Inbox of the workspace, it makes no other one.
func (s *Scope) AddAtlas(workspace int64, a loci.Atlas) (loci.Atlas, error) {
	a.ID, a.CreatedAt, a.UpdatedAt, a.Status = loci.NewID(s.Conn.Now.Std()), s.Conn.Now, s.Conn.Now,
		loci.ContainerActive
	s.Conn.NoteChange(loci.KindAtlas, workspace, a.ID, "")
	_, err := s.Exec(
		`INSERT INTO atlases (id, workspace, name, keywords, description, inbox, archived, memories, bytes,
			created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, ?8, ?8) ON CONFLICT (workspace) WHERE inbox DO NOTHING`, a.ID,
		workspace, a.Name, sqldb.EncodeStrings(a.Keywords), a.Description, a.Default, false, a.CreatedAt)
	return a, err
}

// MemoryCount is the number of memories of an atlas a, in every status.
const MemoryCount = ` a.memories + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c
	WHERE c.workspace = a.workspace AND c.atlas = a.row_id) `

// AtlasColumns are the columns of an atlas a that ScanAtlas reads, where w is the workspace.
const AtlasColumns = ` a.id, w.id, a.name, a.keywords, a.description, a.inbox, a.archived, a.archived_at, a.archived_by,
	a.created_at, a.updated_at, ` + MemoryCount

// ScanAtlas reads AtlasColumns.
func ScanAtlas(r sqldb.Row) (a loci.Atlas, err error) {
	var archived bool
	var keywords string
	err = r.Scan(&a.ID, &a.WorkspaceID, &a.Name, &keywords, &a.Description, &a.Default, &archived, &a.ArchivedAt,
		&a.ArchivedBy, &a.CreatedAt, &a.UpdatedAt, &a.MemoryCount)
	if err != nil {
		return a, err
	}
	a.Status = accountdb.ContainerStatus(archived)
	a.Keywords, err = sqldb.DecodeStrings[string](keywords)
	return a, err
}

// AtlasRecord returns an atlas in the scope of the transaction.
func (t Tx) AtlasRecord(id loci.ID) (loci.Atlas, error) {
	a, err := ScanAtlas(t.scope.Row(`SELECT`+AtlasColumns+`FROM atlases a`+t.scope.MembershipJoin("a.workspace")+
		`WHERE a.id = ?2`, id))
	return a, sqldb.MapNoRows(err)
}

// Record returns the present record of the atlas.
func (a *Atlas) Record() (loci.Atlas, error) { return a.scope.AtlasRecord(a.id) }

// Update writes name, keywords and description of the record that change makes of the present one, as an admin: the
// handles of memories and sessions lead to that of their atlas, which a member may open.
func (a *Atlas) Update(change func(*loci.Atlas)) (loci.Atlas, error) {
	if err := a.workspace.Authorize(nil, loci.RoleAdmin); err != nil {
		return loci.Atlas{}, err
	}
	r, err := a.Record()
	if err == nil {
		err = a.scope.CheckIfMatch(r.EntityTag())
	}
	if err != nil {
		return r, err
	}
	change(&r)
	a.NoteChange()
	_, err = a.scope.Exec(
		`UPDATE atlases SET name = ?2, keywords = ?3, description = ?4, updated_at = ?5 WHERE row_id = ?1`,
		a.rowID, r.Name, sqldb.EncodeStrings(r.Keywords), r.Description, max(a.scope.Conn.Now, r.UpdatedAt+1))
	if err != nil {
		return r, err
	}
	return a.Record()
}

// NoteChange records a change of the atlas.
func (a *Atlas) NoteChange() { a.workspace.NoteChange(loci.KindAtlas, a.id) }

// SetArchived archives or restores an atlas of an active workspace, as an admin.
func (a *Atlas) SetArchived(archived bool) (r loci.Atlas, err error) {
	if err := a.workspace.Authorize(nil, loci.RoleAdmin); err != nil {
		return r, err
	}
	if _, err := loci.AtlasStates.Apply(a.Status(), ArchivingMove(archived)); err != nil {
		return r, err
	}
	a.scope.LinkResponse(a.id)
	a.NoteChange()
	at := a.scope.Archival(archived)
	_, err = a.scope.Exec(`UPDATE atlases SET archived = ?2, archived_at = ?4, archived_by = ?5,`+accountdb.Touch+
		`WHERE row_id = ?1`, a.rowID, archived, a.scope.Conn.Now, at.ArchivedAt, at.ArchivedBy)
	if err != nil {
		return r, err
	}
	return a.Record()
}
