package accountdb

import (
	"crypto/rand"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// referralCodeLength is the length of a code in characters of base32: 60 random bits.
const referralCodeLength = 12

// Referrals returns the referrals of a user, without the address of the link. The code is empty until
// MakeReferralCode.
func (t Tx) Referrals(userID loci.ID) (r loci.Referrals, err error) {
	err = t.conn.QueryRow(`SELECT u.referral_code, count(r.row_id), count(CASE WHEN r.verified_at > 0 THEN 1 END),
			count(CASE WHEN r.activated_at > 0 THEN 1 END)
		FROM users u LEFT JOIN referrals r ON r.referrer = u.id WHERE u.id = ?1 GROUP BY u.referral_code`,
		[]any{userID}, []any{&r.Code, &r.Counts.Registered, &r.Counts.Verified, &r.Counts.Activated})
	if err != nil {
		return r, sqldb.MapNoRows(err)
	}
	r.Invitees = []loci.Invitee{}
	return r, t.conn.Query(`SELECT u.email, r.verified_at, r.activated_at, r.created_at
		FROM referrals r JOIN users u ON u.id = r.invitee WHERE r.referrer = ?1
		ORDER BY r.created_at DESC, r.id DESC LIMIT ?2`, []any{userID, loci.MaxShownInvitees},
		func(row sqldb.Row) error {
			var email loci.Email
			var verified, activated loci.Time
			i := loci.Invitee{Status: loci.ReferralRegistered}
			err := row.Scan(&email, &verified, &activated, &i.JoinedAt)
			switch {
			case activated > 0:
				i.Status = loci.ReferralActivated
			case verified > 0:
				i.Status = loci.ReferralVerified
			}
			i.Email = email.Masked()
			r.Invitees = append(r.Invitees, i)
			return err
		})
}

// MakeReferralCode returns the referral code of a user, and makes it at the first call.
func (t Tx) MakeReferralCode(userID loci.ID) (code loci.ReferralCode, err error) {
	if _, err = t.conn.Exec(`UPDATE users SET referral_code = ?2 WHERE id = ?1 AND referral_code = ''`, userID,
		rand.Text()[:referralCodeLength]); err != nil {
		return "", err
	}
	err = t.conn.QueryRow(`SELECT referral_code FROM users WHERE id = ?1`, []any{userID}, []any{&code})
	return code, sqldb.MapNoRows(err)
}

// referrerCondition is the condition of the user with the referral code ?1. A disabled user refers nobody.
const referrerCondition = ` referral_code = ?1 AND referral_code <> '' AND NOT disabled `

// referrer returns the user with a referral code, or NotFound. The user stays until the commit.
func (t Tx) referrer(code loci.ReferralCode) (u loci.User, err error) {
	err = t.conn.QueryRow(`SELECT`+userColumns+`FROM users WHERE `+referrerCondition+
		t.conn.LockClause("KEY SHARE", "users"), []any{code}, scanUser(&u))
	return u, sqldb.MapNoRows(err)
}

// HasReferralCode reports whether a referral code is that of a user.
func (t Tx) HasReferralCode(code loci.ReferralCode) (has bool, err error) {
	return has, t.conn.QueryRow(`SELECT EXISTS (SELECT 1 FROM users WHERE `+referrerCondition+`)`, []any{code},
		[]any{&has})
}

// addReferral attributes a new user to the user with a code. An alias of the referrer is no referral.
func (t Tx) addReferral(invitee loci.User, code loci.ReferralCode) error {
	if code == "" {
		return nil
	}
	r, err := t.referrer(code)
	if loci.Is(err, loci.CodeNotFound) {
		return nil
	}
	if err != nil || withoutAlias(r.Email) == withoutAlias(invitee.Email) {
		return err
	}
	verifiedAt := loci.Time(0)
	if invitee.EmailVerified {
		verifiedAt = t.conn.Now
	}
	_, err = t.conn.Exec(`INSERT INTO referrals (id, referrer, invitee, verified_at, activated_at, created_at)
		VALUES (?1, ?2, ?3, ?4, 0, ?5)`, loci.NewID(t.conn.Now.Std()), r.ID, invitee.ID, verifiedAt, t.conn.Now)
	return err
}

// withoutAlias returns the form of an address in which aliases are equal: ann+news@example.com is ann@example.com.
func withoutAlias(email string) string {
	local, host, _ := strings.Cut(FoldEmail(loci.Email(email)), "@")
	if i := strings.IndexByte(local, '+'); i > 0 {
		local = local[:i]
	}
	return local + "@" + host
}

// ActivateReferral activates the verified referral of an invitee, if there is one that is not activated yet, and gives
// both sides a benefit.
func (t Tx) ActivateReferral(invitee loci.ID) error {
	var referrer loci.ID
	err := sqldb.MapNoRows(t.conn.QueryRow(`UPDATE referrals SET activated_at = ?2
		WHERE invitee = ?1 AND verified_at > 0 AND activated_at = 0 RETURNING referrer`, []any{invitee, t.conn.Now},
		[]any{&referrer}))
	if loci.Is(err, loci.CodeNotFound) {
		return nil
	}
	t.onChange(Change{UserID: invitee})
	for _, userID := range []loci.ID{referrer, invitee} {
		if err == nil {
			_, err = t.conn.Exec(`INSERT INTO benefits (id, user_id, days, expires_at, created_at, updated_at)
				VALUES (?1, ?2, ?3, 0, ?4, ?4)`, loci.NewID(t.conn.Now.Std()), userID, loci.BenefitDays, t.conn.Now)
		}
	}
	return err
}
