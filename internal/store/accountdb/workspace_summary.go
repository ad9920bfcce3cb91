package accountdb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A WorkspaceSummary is a workspace as the operator sees it: numbers, and no text of a memory.
type WorkspaceSummary struct {
	ID          loci.ID              `json:"id"`
	Name        string               `json:"name"`
	Kind        loci.WorkspaceKind   `json:"kind"`
	Status      loci.ContainerStatus `json:"status"`
	OwnerID     loci.ID              `json:"ownerId"`
	OwnerEmail  string               `json:"ownerEmail"`
	MemberCount int64                `json:"memberCount"`
	AtlasCount  int64                `json:"atlasCount"`
	MemoryCount int64                `json:"memoryCount"`
	UsedBytes   int64                `json:"usedBytes"` // content
	CreatedAt   loci.Time            `json:"createdAt"`

	rowID int64
}

// The counters of atlases lack the changes in index_log.
const workspaceQuery = `SELECT w.row_id, w.id, w.name, w.personal_of IS NOT NULL, w.archived, w.created_at, u.id,
	u.email,
	(SELECT count(*) FROM members x WHERE x.workspace = w.row_id),
	(SELECT count(*) FROM atlases a WHERE a.workspace = w.row_id),
	(SELECT CAST(COALESCE(SUM(a.memories), 0) AS BIGINT) FROM atlases a WHERE a.workspace = w.row_id)
		+ (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c WHERE c.workspace = w.row_id),
	(SELECT CAST(COALESCE(SUM(a.bytes), 0) AS BIGINT) FROM atlases a WHERE a.workspace = w.row_id)
		+ (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM index_log c WHERE c.workspace = w.row_id)
	FROM workspaces w JOIN members o ON o.workspace = w.row_id AND o.role = 'owner' JOIN users u ON u.id = o.user_id `

func scanWorkspaceSummary(r sqldb.Row) (w WorkspaceSummary, err error) {
	var personal, archived bool
	err = r.Scan(&w.rowID, &w.ID, &w.Name, &personal, &archived, &w.CreatedAt, &w.OwnerID, &w.OwnerEmail,
		&w.MemberCount, &w.AtlasCount, &w.MemoryCount, &w.UsedBytes)
	w.Kind, w.Status = WorkspaceKind(personal), ContainerStatus(archived)
	return w, err
}

// WorkspaceKind returns the kind of a workspace.
func WorkspaceKind(personal bool) loci.WorkspaceKind {
	if personal {
		return loci.WorkspacePersonal
	}
	return loci.WorkspaceTeam
}

// ContainerStatus returns the status of an atlas or a workspace.
func ContainerStatus(archived bool) loci.ContainerStatus {
	if archived {
		return loci.ContainerArchived
	}
	return loci.ContainerActive
}

// WorkspaceSummaries returns the next SummaryBatch workspaces after one, oldest first: of the user with an address, as
// any role, or all. The zero WorkspaceSummary begins the list.
func (t Tx) WorkspaceSummaries(e loci.Email, after WorkspaceSummary) (list []WorkspaceSummary, err error) {
	err = t.conn.Query(workspaceQuery+`WHERE w.row_id > ?1 AND (?2 = '' OR EXISTS (SELECT 1 FROM members m
		JOIN users mu ON mu.id = m.user_id WHERE m.workspace = w.row_id AND mu.email_folded = ?2))
		ORDER BY w.row_id LIMIT ?3`, []any{after.rowID, FoldEmail(e), SummaryBatch}, func(r sqldb.Row) error {
		w, err := scanWorkspaceSummary(r)
		list = append(list, w)
		return err
	})
	return list, err
}

// MemberColumns are the columns of a member x and its user u that ScanMember reads.
const MemberColumns = ` u.id, u.email, u.name, x.role, x.joined_at `

// ScanMember reads a row of MemberColumns.
func ScanMember(r sqldb.Row) (m loci.Member, err error) {
	err = r.Scan(&m.UserID, &m.Email, &m.Name, &m.Role, &m.JoinedAt)
	return m, err
}

// An AtlasSummary is an atlas as the operator sees it.
type AtlasSummary struct {
	ID          loci.ID              `json:"id"`
	Name        string               `json:"name"`
	Default     bool                 `json:"default"`
	Status      loci.ContainerStatus `json:"status"`
	MemoryCount int64                `json:"memoryCount"`
	UsedBytes   int64                `json:"usedBytes"`
	CreatedAt   loci.Time            `json:"createdAt"`
}

// A WorkspaceDetail is a workspace with members and atlases, as the operator sees it.
type WorkspaceDetail struct {
	Workspace struct {
		WorkspaceSummary
		Invitations int64 `json:"invitations"` // pending
	} `json:"workspace"`
	Members []loci.Member  `json:"members" show:"columns=userId name:12 email:20 role joinedAt"`
	Atlases []AtlasSummary `json:"atlases" show:"columns=id name:20 status=active memoryCount usedBytes createdAt"`
}

// WorkspaceDetail returns the workspace with an id.
func (t Tx) WorkspaceDetail(id loci.ID) (d WorkspaceDetail, err error) {
	d.Members, d.Atlases = []loci.Member{}, []AtlasSummary{}
	w, err := scanWorkspaceSummary(t.conn.Row(workspaceQuery+`WHERE w.id = ?1`, id))
	if err != nil {
		return d, sqldb.NotFoundMessage(err, "There is no workspace with this id.")
	}
	d.Workspace.WorkspaceSummary = w
	err = t.conn.QueryRow(`SELECT count(*) FROM invitations i WHERE i.workspace = ?1 AND i.status = ?2
		AND i.expires_at > ?3`, []any{w.rowID, loci.InvitationPending, t.conn.Now}, []any{&d.Workspace.Invitations})
	if err != nil {
		return d, err
	}
	err = t.conn.Query(`SELECT`+MemberColumns+`FROM members x
		JOIN users u ON u.id = x.user_id WHERE x.workspace = ?1 ORDER BY x.joined_at, u.id`, []any{w.rowID},
		func(r sqldb.Row) error {
			m, err := ScanMember(r)
			d.Members = append(d.Members, m)
			return err
		})
	if err != nil {
		return d, err
	}
	return d, t.conn.Query(`SELECT a.id, a.name, a.inbox, a.archived, a.created_at,
		a.memories + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c WHERE c.workspace = ?1
			AND c.atlas = a.row_id),
		a.bytes + (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM index_log c WHERE c.workspace = ?1
			AND c.atlas = a.row_id)
		FROM atlases a WHERE a.workspace = ?1 ORDER BY a.created_at, a.id`, []any{w.rowID},
		func(r sqldb.Row) error {
			var a AtlasSummary
			var archived bool
			err := r.Scan(&a.ID, &a.Name, &a.Default, &archived, &a.CreatedAt, &a.MemoryCount, &a.UsedBytes)
			a.Status = ContainerStatus(archived)
			d.Atlases = append(d.Atlases, a)
			return err
		})
}
