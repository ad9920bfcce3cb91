package store

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// Agents returns the agents of the members of a workspace in scope.
func (t *Tx) Agents(workspaceID loci.ID, p page.Request) (list page.List[loci.Agent], err error) {
	if _, err := t.WorkspaceRecord(workspaceID); err != nil {
		return list, err
	}
	list, err = scope.QueryPage(p, t.in.Query, `SELECT g.id, g.name, g.source_name, g.user_id, COALESCE(g.key_id, ''),
		COALESCE(g.grant_id, ''),`+accountdb.RevokedAgent("?3")+`, g.last_seen_at, g.created_at, g.updated_at
		FROM members x`+t.in.MembershipJoin("x.workspace")+
		`JOIN agents g ON g.user_id = x.user_id`+accountdb.AgentCredentials+`WHERE w.id = ?2 AND`+accountdb.LiveAgent+
		`AND`+accountdb.ReachingAgent("x.workspace")+`AND (g.created_at, g.id) < (?4, ?5)
		ORDER BY g.created_at DESC, g.id DESC LIMIT ?6`,
		scanAgent, workspaceID, t.in.Conn.Now)
	if err != nil {
		return list, err
	}
	shared, err := t.sharedWorkspaces(list.Items)
	for i := range list.Items {
		list.Items[i].WorkspaceIDs = shared[list.Items[i].ID]
	}
	return list, err
}

func scanAgent(r sqldb.Row) (a loci.Agent, err error) {
	revoked := false
	err = r.Scan(&a.ID, &a.Name, &a.SourceName, &a.OwnerUserID, &a.KeyID, &a.GrantID, &revoked, &a.LastSeenAt,
		&a.CreatedAt, &a.UpdatedAt)
	if a.Status = loci.AgentActive; revoked {
		a.Status = loci.AgentRevoked
	}
	return a, err
}

// sharedWorkspaces returns the workspaces in scope of each of some agents.
func (t *Tx) sharedWorkspaces(agents []loci.Agent) (map[loci.ID][]loci.ID, error) {
	ids := make([]loci.ID, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	shared := map[loci.ID][]loci.ID{}
	err := t.in.Query(`SELECT g.id, w.id FROM members x`+t.in.MembershipJoin("x.workspace")+
		`JOIN agents g ON g.user_id = x.user_id`+accountdb.AgentCredentials+`WHERE g.id IN (SELECT list.value FROM `+
		fmt.Sprintf(t.in.Conn.Dialect.StringRows, 2)+`) AND`+accountdb.ReachingAgent("x.workspace")+`ORDER BY w.row_id`,
		[]any{sqldb.EncodeStrings(ids)}, func(r sqldb.Row) error {
			var agent, id loci.ID
			err := r.Scan(&agent, &id)
			shared[agent] = append(shared[agent], id)
			return err
		})
	return shared, err
}

// SetSource records the source that the agent of the call names.
func (t *Tx) SetSource(name string) error {
	if name == "" || t.in.Actor.AgentID == "" {
		return nil
	}
	return t.in.Accounts().SetAgentSource(t.in.Actor.AgentID, name)
}
