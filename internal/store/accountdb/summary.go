package accountdb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A Summary is an account as the operator sees it, without secrets.
type Summary struct {
	ID            loci.ID       `json:"id"`
	Email         string        `json:"email"`
	Name          string        `json:"name"`
	EmailVerified bool          `json:"emailVerified"`
	Disabled      bool          `json:"disabled"`
	Plan          loci.PlanName `json:"plan"`
	BasePlan      loci.PlanName `json:"basePlan"`
	Teams         int64         `json:"teams"` // as any role
	Keys          int64         `json:"keys"`  // without revoked ones
	SignIns       int64         `json:"signIns"`
	Grants        int64         `json:"grants"` // of OAuth clients
	CreatedAt     loci.Time     `json:"createdAt"`
	LastUsedAt    loci.Time     `json:"lastUsedAt,omitzero"` // of a key, a sign-in or a grant

	rowID int64
}

const summaryQuery = `SELECT u.row_id, u.id, u.email, u.name, u.verified, u.disabled, u.plan, u.pro_until, u.created_at,
	(SELECT count(*) FROM members m JOIN workspaces w ON w.row_id = m.workspace WHERE m.user_id = u.id
		AND w.personal_of IS NULL),
	(SELECT count(*) FROM api_keys k WHERE k.user_id = u.id AND k.revoked_at = 0),
	(SELECT count(*) FROM sign_ins s WHERE s.user_id = u.id AND s.used_at > ?1 AND s.created_at > ?2),
	(SELECT count(*) FROM grants g WHERE g.user_id = u.id),
	(SELECT COALESCE(max(k.last_used_at), 0) FROM api_keys k WHERE k.user_id = u.id),
	(SELECT COALESCE(max(g.last_used_at), 0) FROM grants g WHERE g.user_id = u.id),
	(SELECT COALESCE(max(s.used_at), 0) FROM sign_ins s WHERE s.user_id = u.id) FROM users u `

func (t Tx) scanSummary(r sqldb.Row) (s Summary, err error) {
	var own loci.PlanName
	var proUntil, signedIn, granted loci.Time
	err = r.Scan(&s.rowID, &s.ID, &s.Email, &s.Name, &s.EmailVerified, &s.Disabled, &own, &proUntil, &s.CreatedAt,
		&s.Teams, &s.Keys, &s.SignIns, &s.Grants, &s.LastUsedAt, &granted, &signedIn)
	s.Plan, s.BasePlan = t.plans.Effective(own, proUntil, t.conn.Now).Name, t.plans.Of(own).Name
	s.LastUsedAt = max(s.LastUsedAt, signedIn, granted)
	return s, err
}

// SummaryBatch is the number of accounts that Summaries returns at once.
const SummaryBatch = 1000

// Summaries returns the next SummaryBatch accounts after one, oldest first. The zero Summary begins the list.
func (t Tx) Summaries(after Summary) (list []Summary, err error) {
	err = t.conn.Query(summaryQuery+`WHERE u.row_id > ?3 ORDER BY u.row_id LIMIT ?4`,
		[]any{t.cutoff(SignInIdleTimeout), t.cutoff(SignInMaxAge), after.rowID, SummaryBatch},
		func(r sqldb.Row) error {
			s, err := t.scanSummary(r)
			list = append(list, s)
			return err
		})
	return list, err
}

// Summary returns the account with an address in any letter case, or NotFound.
func (t Tx) Summary(e loci.Email) (Summary, error) {
	s, err := t.scanSummary(t.conn.Row(summaryQuery+`WHERE u.email_folded = ?3`, t.cutoff(SignInIdleTimeout),
		t.cutoff(SignInMaxAge), FoldEmail(e)))
	return s, sqldb.MapNoRows(err)
}

// Plan returns the limits of a plan.
func (t Tx) Plan(name loci.PlanName) identity.Plan { return t.plans.Of(name) }

// PendingInvitations counts the pending invitations to an address.
func (t Tx) PendingInvitations(e loci.Email) (n int64, err error) {
	return n, t.conn.QueryRow(`SELECT count(*) FROM invitations WHERE email_folded = ?1 AND status = ?2
		AND expires_at > ?3`, []any{FoldEmail(e), loci.InvitationPending, t.conn.Now}, []any{&n})
}
