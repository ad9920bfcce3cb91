package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// Usage returns the counts of the workspaces in scope, without the limits of the plan.
func (t *Tx) Usage() (s loci.AccountStatus, err error) {
	u, p := &s.Usage, &s.Workspaces
	var queues []embeddb.QueueCount
	err = t.in.Query(`SELECT w.row_id, w.personal_of IS NOT NULL, m.role,
			(SELECT count(*) FROM atlases a WHERE a.workspace = w.row_id),
			(SELECT CAST(COALESCE(SUM(a.memories), 0) AS BIGINT) FROM atlases a WHERE a.workspace = w.row_id)
				+ (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c WHERE c.workspace = w.row_id),
			(SELECT CAST(COALESCE(SUM(a.bytes), 0) AS BIGINT) FROM atlases a WHERE a.workspace = w.row_id)
				+ (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM index_log c WHERE c.workspace = w.row_id)
				+ `+attachmentdb.ActiveBytes+`,
			`+embeddb.QueueCountSQL+`, `+embeddb.FailedCountSQL+`, `+t.waitingCandidates()+`,
			`+t.waitingInvitations()+`, `+t.expiringMemories()+`
		FROM workspaces e`+t.in.MembershipJoin("e.row_id"), []any{t.in.Conn.Now, t.in.Conn.Now + expiring}, func(r sqldb.Row) error {
		var personal bool
		var role loci.Role
		var atlases, memories, bytes, expire int64
		var n embeddb.QueueCount
		err := r.Scan(&n.Workspace, &personal, &role, &atlases, &memories, &bytes, &n.Pending, &n.Failed,
			&s.Waiting.Candidates, &s.Waiting.Invitations, &expire)
		if err != nil {
			return err
		}
		s.Waiting.Expiring = min(s.Waiting.Expiring+expire, loci.MaxWaiting)
		queues = append(queues, n)
		s.Totals.Workspaces++
		s.Totals.Atlases += atlases
		s.Totals.Memories += memories
		if role != loci.RoleOwner {
			return nil
		}
		if personal {
			p.Personal.Used++
		} else {
			p.Team.Used++
		}
		p.Atlases.Used += atlases
		u.Memories += memories
		u.Storage.UsedBytes += bytes
		return nil
	})
	if err == nil {
		err = t.countQueues(queues, &s.Indexing)
	}
	return s, err
}

// waitingCandidates is a column that counts the pending candidates of the actor's sessions in scope, up to MaxWaiting.
// It is the same in each row. IS TRUE and IS NOT NULL keep PostgreSQL from joining all sessions and candidates.
func (t *Tx) waitingCandidates() string {
	return fmt.Sprintf(`(SELECT count(*) FROM (SELECT 1 FROM candidates c WHERE c.user_id = ?1 AND c.status = 'pending'
			AND (c.atlas IN (SELECT a.row_id FROM`+t.in.MembershipSubquery()+`JOIN atlases a ON a.workspace = w.row_id))
				IS TRUE
			AND (SELECT 1 FROM sessions s WHERE s.row_id = c.session AND s.workspace = c.workspace AND NOT s.archived)
				IS NOT NULL
			ORDER BY c.created_at DESC, c.id DESC LIMIT %d) AS counted)`, loci.MaxWaiting)
}

// waitingInvitations is a column that counts the invitations of PendingInvitations, up to MaxWaiting.
func (t *Tx) waitingInvitations() string {
	if t.in.Actor.GrantedWorkspaces != nil {
		return `0`
	}
	return fmt.Sprintf(`(SELECT count(*) FROM (SELECT 1 FROM users u JOIN invitations i ON i.email_folded = u.email_folded
			AND i.status = 'pending' WHERE u.id = ?1 AND u.verified AND i.expires_at > ?2 LIMIT %d) AS invited)`,
		loci.MaxWaiting)
}

// expiring is how long before its end the validity of a memory is counted as expiring.
const expiring = loci.Time(7 * 24 * time.Hour / time.Microsecond)

// expiringMemories is a column that counts, up to MaxWaiting, the active memories of a workspace whose validity
// ends soon.
func (t *Tx) expiringMemories() string {
	return fmt.Sprintf(`(SELECT count(*) FROM (SELECT 1 FROM memories x WHERE x.workspace = e.row_id AND x.valid_until > 0
			AND x.valid_until > ?2 AND x.valid_until <= ?3 AND x.status = 0
			AND (SELECT 1 FROM atlases a WHERE a.row_id = x.atlas AND a.workspace = x.workspace) IS NOT NULL
			LIMIT %d) AS ending)`, loci.MaxWaiting)
}

// countQueues adds the memories that wait for vectors, and the latest failure.
func (t *Tx) countQueues(queues []embeddb.QueueCount, out *loci.Indexing) error {
	for _, n := range queues {
		n, err := t.store.queues.Complete(t.in.Conn, n)
		if err != nil {
			return err
		}
		out.Pending, out.Failed = out.Pending+n.Pending, out.Failed+n.Failed
	}
	if out.Failed == 0 {
		return nil
	}
	const latest = ` FROM embedding_queue x WHERE x.workspace = w.row_id AND x.error <> ''
		ORDER BY x.failed_at DESC LIMIT 1`
	err := t.in.QueryRow(`SELECT COALESCE((SELECT x.error`+latest+`), '') FROM workspaces e`+t.in.MembershipJoin("e.row_id")+
		`ORDER BY COALESCE((SELECT x.failed_at`+latest+`), 0) DESC LIMIT 1`, nil, &out.LastError)
	if errors.Is(err, sqldb.ErrNoRows) {
		err = nil // the actor left the workspace meanwhile
	}
	return err
}

// Totals are the numbers of records of a database.
type Totals struct{ Users, Workspaces, Memories int64 }

// Totals counts the records of the database. It reads the counters of atlases, and no memory.
func (t *SystemTx) Totals() (n Totals, err error) {
	err = t.t.in.Conn.QueryRow(`SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM workspaces),
		(SELECT CAST(COALESCE(SUM(memories), 0) AS BIGINT) FROM atlases)
			+ (SELECT CAST(COALESCE(SUM(memories), 0) AS BIGINT) FROM index_log)`, nil,
		[]any{&n.Users, &n.Workspaces, &n.Memories})
	return n, err
}

// UsageOf returns the counts of the workspaces of a user, without the limits of the plan, and the workspaces.
func (t *SystemTx) UsageOf(userID loci.ID) (s loci.AccountStatus, list []loci.Workspace, err error) {
	u := t.t.store.tx(scope.New(t.t.store.base, t.t.in.Conn, &identity.Actor{UserID: userID}))
	if s, err = u.Usage(); err != nil {
		return s, nil, err
	}
	list = []loci.Workspace{}
	err = u.in.Query(`SELECT`+scope.WorkspaceColumns+`FROM workspaces e`+u.in.MembershipJoin("e.row_id")+
		`ORDER BY w.created_at, w.id`, nil, func(r sqldb.Row) error {
		w, err := scope.ScanWorkspace(r)
		list = append(list, w)
		return err
	})
	return s, list, err
}
