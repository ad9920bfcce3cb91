package scope

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
)

// presentOwner returns the owner of a workspace that a handle has locked. The owner of a handle that waited for a
// transfer is the former one: PostgreSQL reads again only the rows that a statement locks.
func (w *Workspace) presentOwner() (o Owner, err error) {
	if !w.scope.Conn.Dialect.Postgres {
		return w.owner, nil
	}
	err = w.scope.Conn.QueryRow(`SELECT ou.id, ou.plan, ou.pro_until FROM members o
		JOIN users ou ON ou.id = o.user_id WHERE o.workspace = ?1 AND o.role = 'owner'`, []any{w.rowID},
		o.scanDest())
	return o, err
}

func (s *Scope) plan(o Owner) identity.Plan {
	return s.Plans.Effective(o.plan, o.proUntil, s.Conn.Now)
}

// UserAsOwner returns a user with the plan that limits the workspaces of the user.
func (s *Scope) UserAsOwner(userID loci.ID) (u Owner, err error) {
	err = s.Conn.QueryRow(`SELECT ou.id, ou.plan, ou.pro_until FROM users ou WHERE ou.id = ?1`, []any{userID},
		u.scanDest())
	return u, sqldb.NotFoundMessage(err, "The user does not exist.")
}

// CheckTeamQuota returns quota_exceeded where a user has no room for that many team workspaces more.
func (s *Scope) CheckTeamQuota(u Owner, more int64) error {
	return s.checkQuota(s.plan(u).Teams, u.id, more,
		`SELECT count(*) FROM members m JOIN workspaces w ON w.row_id = m.workspace
		WHERE m.user_id = ?1 AND m.role = 'owner' AND w.personal_of IS NULL`, "team workspaces")
}

// CheckAtlasQuota returns quota_exceeded where a user has no room for that many more atlases.
func (s *Scope) CheckAtlasQuota(u Owner, more int64) error {
	return s.checkQuota(s.plan(u).Atlases, u.id, more,
		`SELECT count(*) FROM members m JOIN atlases a ON a.workspace = m.workspace WHERE m.user_id = ?1
			AND m.role = 'owner'`, "atlases")
}

// CheckAtlasQuota returns quota_exceeded where the owner has no room for one more atlas.
func (w *Workspace) CheckAtlasQuota() error {
	o, err := w.presentOwner()
	if err == nil {
		err = w.scope.CheckAtlasQuota(o, 1)
	}
	return err
}

// checkQuota returns quota_exceeded where an owner has no room for that many more of something, which the query count
// counts.
func (s *Scope) checkQuota(maximum int64, owner loci.ID, more int64, count, what string) error {
	if maximum >= loci.Unlimited {
		return nil
	}
	have, err := s.countLocked(owner, count)
	if err == nil && have+more > maximum {
		err = s.quotaError("The owner's plan limits the number of %s to %d: delete one, or change the plan.", what,
			maximum)
	}
	return err
}

// countLocked counts records of an owner, under a lock until the commit.
func (s *Scope) countLocked(owner loci.ID, count string, more ...any) (n int64, err error) {
	if err = s.Conn.AdvisoryLock("plan/" + string(owner)); err == nil {
		err = s.Conn.QueryRow(count, append([]any{owner}, more...), []any{&n})
	}
	return n, err
}

// CheckStorageQuota returns quota_exceeded if contents and files of the owner exceed the plan. Without a limit it sends
// no statement.
func (w *Workspace) CheckStorageQuota() error {
	if w.scope.plan(w.owner).Storage >= loci.Unlimited {
		return nil
	}
	o, err := w.presentOwner()
	if err == nil {
		err = w.scope.CheckStorageQuota(o)
	}
	return err
}

// CheckStorageQuota returns quota_exceeded if contents and files in all workspaces of an owner exceed the storage of
// the plan.
func (s *Scope) CheckStorageQuota(owner Owner) error {
	limit := s.plan(owner).Storage
	if limit >= loci.Unlimited {
		return nil
	}
	held, err := s.countLocked(owner.id,
		`SELECT (SELECT CAST(COALESCE(SUM(a.bytes), 0) AS BIGINT) FROM members m
			JOIN atlases a ON a.workspace = m.workspace WHERE m.user_id = ?1 AND m.role = 'owner')
		+ (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM members m
			JOIN index_log c ON c.workspace = m.workspace WHERE m.user_id = ?1 AND m.role = 'owner')
		+ (SELECT CAST(COALESCE(SUM(x.size), 0) AS BIGINT) FROM members m
			JOIN atlases a ON a.workspace = m.workspace JOIN attachments x ON x.atlas = a.row_id
			WHERE m.user_id = ?1 AND m.role = 'owner' AND (x.active OR x.created_at > ?2))`,
		PendingSince(s.Conn))
	switch {
	case err != nil || held <= limit:
		return err
	case owner.id == s.Actor.UserID && s.Actor.GrantedWorkspaces == nil:
		return s.quotaError("Your plan %s stores at most %d bytes, and this would make %d: "+
			"delete something, or change the plan.", s.plan(owner).Name, limit, held)
	}
	// Without figures: they are the owner's, and cover workspaces that a token does not reach.
	return s.quotaError("The plan of the workspace's owner has no room for so much: delete something, or ask the " +
		"owner.")
}

// PendingSince returns the time since which a pending upload was announced that has not expired. Its size counts.
func PendingSince(t *sqldb.Tx) loci.Time {
	return t.Now - loci.Time(loci.UploadLifetime.Microseconds())
}

// quotaError returns quota_exceeded, with the end of the month as the time to wait.
func (s *Scope) quotaError(format string, args ...any) error {
	e := loci.AsError(loci.Errorf(loci.CodeQuotaExceeded, format, args...))
	now := s.Conn.Now.Std()
	e.RetryAfter = identity.MonthEnd(now).Sub(now)
	return e
}
