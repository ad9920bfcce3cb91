package accountdb

import (
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// BenefitQuery selects the benefits b of a user ?1 for ScanBenefit.
const BenefitQuery = `SELECT b.id, b.days, b.expires_at, b.created_at, b.updated_at, u.plan, u.pro_until
	FROM users u JOIN benefits b ON b.user_id = u.id WHERE u.id = ?1 `

// ScanBenefit reads a row of BenefitQuery.
func (t Tx) ScanBenefit(r sqldb.Row) (b loci.Benefit, err error) {
	var own loci.PlanName
	var proUntil loci.Time
	err = r.Scan(&b.ID, &b.Days, &b.ExpiresAt, &b.CreatedAt, &b.UpdatedAt, &own, &proUntil)
	b.Kind, b.Status = loci.BenefitPro, loci.BenefitAvailable
	switch {
	case b.ExpiresAt > t.conn.Now:
		b.Status = loci.BenefitActive
	case b.ExpiresAt > 0:
		b.Status = loci.BenefitExpired
	}
	b.BasePlan, b.EffectivePlan = t.plans.Of(own).Name, t.plans.Effective(own, proUntil, t.conn.Now).Name
	return b, err
}

// Benefit returns a benefit of a user, or NotFound. Until the commit, no other transaction activates one of them.
func (t Tx) Benefit(userID, id loci.ID) (b loci.Benefit, err error) {
	if err := t.conn.AdvisoryLock(string(userID) + "/benefits"); err != nil {
		return b, err
	}
	b, err = t.ScanBenefit(t.conn.Row(BenefitQuery+`AND b.id = ?2`, userID, id))
	return b, sqldb.MapNoRows(err)
}

// ActivateBenefit activates a benefit of a user, which Benefit has returned in this transaction. It extends the time
// that a running one has left.
func (t Tx) ActivateBenefit(userID loci.ID, b loci.Benefit) (loci.Benefit, error) {
	if _, err := loci.BenefitStates.Apply(b.Status, "activated"); err != nil {
		return b, err
	}
	if b.BasePlan != loci.PlanFree {
		return b, loci.Errorf(loci.CodeStateConflict, "Your plan %s is not smaller than pro, so the benefit would "+
			"lift nothing: keep it.", b.BasePlan)
	}
	length := loci.Time((time.Duration(b.Days) * 24 * time.Hour).Microseconds())
	var until loci.Time
	err := t.conn.QueryRow(`UPDATE users SET pro_until = ?3 + CASE WHEN pro_until > ?2 THEN pro_until ELSE ?2 END
		WHERE id = ?1 RETURNING pro_until`, []any{userID, t.conn.Now, length}, []any{&until})
	if err != nil {
		return b, sqldb.MapNoRows(err)
	}
	_, err = t.conn.Exec(`UPDATE benefits SET expires_at = ?2, updated_at = ?3 WHERE id = ?1`, b.ID, until, t.conn.Now)
	if err != nil {
		return b, err
	}
	t.onChange(Change{UserID: userID})
	return t.ScanBenefit(t.conn.Row(BenefitQuery+`AND b.id = ?2`, userID, b.ID))
}
