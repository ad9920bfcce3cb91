package store

import (
	"errors"

	"github.com/loci-memory/loci"
)

const atlasColumns = ` a.id, w.id, a.name, a.keywords, a.description, a.inbox, a.archived, a.created_at, a.updated_at,
	a.memories + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM changes c WHERE c.workspace = a.workspace AND c.atlas = a.rid) `

func scanAtlas(r row, more ...any) (a loci.Atlas, err error) {
	var archived bool
	var keywords string
	err = r.Scan(append([]any{&a.ID, &a.WorkspaceID, &a.Name, &keywords, &a.Description, &a.Default, &archived, &a.CreatedAt, &a.UpdatedAt, &a.MemoryCount}, more...)...)
	if err != nil {
		return a, err
	}
	a.Status = status(archived)
	a.Keywords, err = readTexts(keywords)
	return a, err
}

// AtlasRecord returns an atlas within the actor's reach.
func (t *Tx) AtlasRecord(id string) (loci.Atlas, error) {
	a, err := scanAtlas(scanned{func(dest ...any) error {
		return t.one(`SELECT`+atlasColumns+`FROM atlases a`+t.mine("a.workspace")+`WHERE a.id = ?2`, []any{id}, dest...)
	}})
	return a, notFound(err)
}

// Atlases returns the atlases of a workspace, or of all within the actor's
// reach where workspaceID is empty. Those of archived workspaces are archived.
func (t *Tx) Atlases(workspaceID string, archived bool, p Page) (list List[loci.Atlas], err error) {
	if workspaceID != "" {
		if _, err := t.WorkspaceRecord(workspaceID); err != nil {
			return list, err
		}
	}
	at, id, limit := p.from()
	list = newList[loci.Atlas](p)
	err = t.each(`SELECT`+atlasColumns+`FROM atlases a`+t.mine("a.workspace")+
		`WHERE (?2 = '' OR w.id = ?2) AND a.archived IN (?3, ?4) AND (a.created_at, a.id) < (?5, ?6) ORDER BY a.created_at DESC, a.id DESC LIMIT ?7`,
		[]any{workspaceID, false, archived, at, id, limit}, list.scanning(func(r row) (loci.Atlas, error) { return scanAtlas(r) }))
	return list, err
}

// AddAtlas makes an atlas in the workspace, unless its owner has most of them.
func (w *Workspace) AddAtlas(a loci.Atlas, most int64) (loci.Atlas, error) {
	if err := w.open(); err != nil {
		return a, err
	}
	if err := w.another(most); err != nil {
		return a, err
	}
	made, err := w.t.addAtlas(w.rid, a)
	made.WorkspaceID = w.id
	w.t.Concerns(made.ID)
	return made, err
}

func (t *Tx) addAtlas(workspace int64, a loci.Atlas) (loci.Atlas, error) {
	a.ID, a.CreatedAt, a.UpdatedAt, a.Status = loci.NewID(t.now.Std()), t.now, t.now, loci.PlaceActive
	_, err := t.exec(`INSERT INTO atlases (id, workspace, name, keywords, description, inbox, archived, memories, bytes, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, ?8, ?8)`, a.ID, workspace, a.Name, texts(a.Keywords), a.Description, a.Default, false, a.CreatedAt)
	return a, err
}

// An Atlas is the handle of an atlas that the actor may write to.
type Atlas struct {
	t         *Tx
	rid       int64
	id        string
	workspace Workspace
	archived  bool
}

const handleColumns = ` a.rid, a.id, a.archived, w.rid, w.id, w.name, w.archived, w.secrets, m.role `

func (a *Atlas) scan() []any {
	w := &a.workspace
	return []any{&a.rid, &a.id, &a.archived, &w.rid, &w.id, &w.name, &w.archived, &w.secrets, &w.role}
}

// Atlas returns the handle of an atlas in whose workspace the actor has at
// least that role. Managers change it alone, members add to it side by side.
func (t *Tx) Atlas(id string, least loci.Role) (*Atlas, error) {
	a := &Atlas{t: t, workspace: Workspace{t: t}}
	how := "UPDATE"
	if least == loci.Member {
		how = "KEY SHARE"
	}
	err := t.one(`SELECT`+handleColumns+`FROM atlases a`+t.mine("a.workspace")+`WHERE a.id = ?2`+t.locked(how, "a, m, w"), []any{id}, a.scan()...)
	return a, a.workspace.granted(err, least)
}

// WorkspaceID returns the id of the atlas's workspace.
func (a *Atlas) WorkspaceID() string { return a.workspace.id }

// ID returns the id of the atlas.
func (a *Atlas) ID() string { return a.id }

// Secrets tells what the atlas's workspace does with credentials.
func (a *Atlas) Secrets() loci.SecretsPolicy { return a.workspace.secrets }

// Alone makes everybody who adds something under that name to the atlas wait
// for one another.
func (a *Atlas) Alone(name string) error {
	return a.t.serialize(a.id, name)
}

// serialize makes everybody who adds something under that name to a record wait for
// one another.
func (t *Tx) serialize(id, name string) error {
	return t.s.db.dialect().serialize(t.c, id+"/"+name)
}

func (a *Atlas) open() error {
	if a.archived {
		return loci.Fail(loci.StateConflict, "The atlas is archived: restore it first.")
	}
	return a.workspace.open()
}

// Record returns the atlas as it is now.
func (a *Atlas) Record() (loci.Atlas, error) { return a.t.AtlasRecord(a.id) }

// Set writes name, keywords and description of the record.
func (a *Atlas) Set(r loci.Atlas) (loci.Atlas, error) {
	if err := a.open(); err != nil {
		return r, err
	}
	_, err := a.t.exec(`UPDATE atlases SET name = ?2, keywords = ?3, description = ?4, updated_at = ?5 WHERE rid = ?1`,
		a.rid, r.Name, texts(r.Keywords), r.Description, max(a.t.now, r.UpdatedAt+1))
	if err != nil {
		return r, err
	}
	return a.Record()
}

// A Shelf is the handle of a workspace to which a memory goes without naming
// its atlas: it knows the atlases that could draw it.
type Shelf struct {
	t         *Tx
	workspace Workspace
	inbox     *Atlas
	atlases   []*Atlas
	Keywords  [][]string // of the atlases that have some, oldest first
}

// Shelf returns the handle of a workspace; an empty id is the actor's own.
func (t *Tx) Shelf(workspaceID string) (*Shelf, error) {
	s := &Shelf{t: t, workspace: Workspace{t: t}}
	which, args := `WHERE e.personal_of = ?1`, []any(nil)
	if workspaceID != "" {
		which, args = `WHERE e.id = ?2`, []any{workspaceID}
	}
	w := &s.workspace
	err := t.few(`SELECT a.rid, a.id, a.keywords, a.inbox, w.rid, w.id, w.name, w.archived, w.secrets, m.role FROM workspaces e`+t.mine("e.rid")+
		`JOIN atlases a ON a.workspace = e.rid AND NOT a.archived AND (a.inbox OR a.keywords <> '[]') `+which+
		` ORDER BY a.created_at, a.id`+t.locked("KEY SHARE", "m, w, a"), args, s.add)
	if err == nil && w.rid == 0 { // a team makes its Inbox late
		err = t.one(`SELECT w.rid, w.id, w.name, w.archived, w.secrets, m.role FROM workspaces e`+t.mine("e.rid")+which+t.locked("KEY SHARE", "m, w"),
			args, &w.rid, &w.id, &w.name, &w.archived, &w.secrets, &w.role)
	}
	return s, w.granted(err, loci.Member)
}

func (s *Shelf) add(r row) error {
	var inbox bool
	var keywords string
	a, w := &Atlas{t: s.t}, &s.workspace
	if err := r.Scan(&a.rid, &a.id, &keywords, &inbox, &w.rid, &w.id, &w.name, &w.archived, &w.secrets, &w.role); err != nil {
		return err
	}
	a.workspace = *w
	if inbox {
		s.inbox = a
	}
	list, err := readTexts(keywords)
	if len(list) > 0 {
		s.atlases, s.Keywords = append(s.atlases, a), append(s.Keywords, list)
	}
	return err
}

// another refuses one more atlas where the owner of the workspace has most of them.
func (w *Workspace) another(most int64) error {
	owner, err := w.t.ownerOf(w.rid)
	if err != nil {
		return err
	}
	return w.t.within(most, owner, `SELECT count(*) FROM members m JOIN atlases a ON a.workspace = m.workspace WHERE m.user_id = ?1 AND m.role = 'owner'`, "atlases")
}

// Pick returns the atlas at a place in Keywords, or the Inbox for -1, which a
// team makes when it first needs it, unless its owner has most of the atlases.
func (s *Shelf) Pick(i int, most int64) (*Atlas, error) {
	if i >= 0 {
		return s.atlases[i], nil
	}
	if s.inbox != nil {
		return s.inbox, nil
	}
	if err := s.workspace.open(); err != nil {
		return nil, err
	}
	if err := s.workspace.another(most); err != nil {
		return nil, err
	}
	a := &Atlas{t: s.t, workspace: s.workspace}
	_, err := s.t.exec(`INSERT INTO atlases (id, workspace, name, keywords, description, inbox, archived, memories, bytes, created_at, updated_at)
		VALUES (?1, ?2, ?3, '[]', '', ?4, ?5, 0, 0, ?6, ?6) ON CONFLICT (workspace) WHERE inbox DO NOTHING`,
		loci.NewID(s.t.now.Std()), s.workspace.rid, loci.InboxName, true, false, s.t.now)
	if err != nil {
		return nil, err
	}
	err = s.t.c.one(`SELECT a.rid, a.id, a.archived FROM atlases a WHERE a.workspace = ?1 AND a.inbox`, []any{s.workspace.rid}, []any{&a.rid, &a.id, &a.archived})
	if errors.Is(err, errNoRow) {
		return nil, busy(err)
	}
	return a, err
}
