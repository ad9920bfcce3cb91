package accountdb

import (
	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Touch is an SQL assignment of the time of an update, ?3. It grows even if the clock does not.
const Touch = ` updated_at = CASE WHEN updated_at < ?3 THEN ?3 ELSE updated_at + 1 END `

const userColumns = ` id, email, name, verified, created_at, updated_at `

func scanUser(u *loci.User) []any {
	return []any{&u.ID, &u.Email, &u.Name, &u.EmailVerified, &u.CreatedAt, &u.UpdatedAt}
}

// A NewUser is an account to store.
type NewUser struct {
	Email    loci.Email
	Name     string
	Password string // a PHC string; empty rejects every password
	Verified bool
	Ref      loci.ReferralCode // of the user who referred this one; an unknown code refers nobody
}

// User returns a user.
func (t Tx) User(id loci.ID) (u loci.User, err error) {
	err = t.conn.QueryRow(`SELECT`+userColumns+`FROM users WHERE id = ?1`, []any{id}, scanUser(&u))
	return u, sqldb.MapNoRows(err)
}

// AddUser makes a user without a workspace. An existing address in any letter case is a conflict.
func (t Tx) AddUser(n NewUser) (u loci.User, err error) {
	u = loci.User{ID: loci.NewID(t.conn.Now.Std()), Email: string(n.Email), Name: n.Name, EmailVerified: n.Verified,
		CreatedAt: t.conn.Now, UpdatedAt: t.conn.Now}
	inserted, err := t.conn.Exec(
		`INSERT INTO users (id, email, email_folded, name, password, verified, plan, pro_until, created_at,
			updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 0, ?7, ?7) ON CONFLICT (email_folded) DO NOTHING`,
		u.ID, u.Email, FoldEmail(n.Email), u.Name, n.Password, n.Verified, t.conn.Now)
	if err != nil {
		return u, err
	}
	if inserted == 0 {
		return u, loci.Errorf(loci.CodeConflict, "There is an account with this address already: sign in, or use "+
			"another address.")
	}
	return u, t.addReferral(u, n.Ref)
}

// A UserPassword is a user with the hash of the password.
type UserPassword struct {
	User     loci.User
	Hash     string
	Disabled bool
}

// UserByEmail returns the user with this address in any letter case, or NotFound.
func (t Tx) UserByEmail(e loci.Email) (l UserPassword, err error) {
	err = t.conn.QueryRow(`SELECT`+userColumns+`, password, disabled FROM users WHERE email_folded = ?1`,
		[]any{FoldEmail(e)}, append(scanUser(&l.User), &l.Hash, &l.Disabled))
	return l, sqldb.MapNoRows(err)
}

// LockEnabledUser keeps a user until the commit. One that was deleted or disabled meanwhile is NotFound.
func (t Tx) LockEnabledUser(id loci.ID) error {
	var one int
	return sqldb.MapNoRows(t.conn.QueryRow(`SELECT 1 FROM users u WHERE u.id = ?1 AND NOT u.disabled`+
		t.conn.LockClause("KEY SHARE", "u"), []any{id}, []any{&one}))
}

// PasswordOf returns the password hash of a user.
func (t Tx) PasswordOf(id loci.ID) (hash string, err error) {
	err = t.conn.QueryRow(`SELECT password FROM users WHERE id = ?1`, []any{id}, []any{&hash})
	return hash, sqldb.MapNoRows(err)
}

// SetName renames a user.
func (t Tx) SetName(id loci.ID, name string) (u loci.User, err error) {
	err = t.conn.QueryRow(`UPDATE users SET name = ?2,`+Touch+`WHERE id = ?1 RETURNING`+userColumns,
		[]any{id, name, t.conn.Now}, scanUser(&u))
	return u, sqldb.MapNoRows(err)
}

// HasUsers reports whether a user exists. In a write transaction it takes a lock until the commit, so that concurrent
// setups make one first user.
func (t Tx) HasUsers() (has bool, err error) {
	if err := t.conn.AdvisoryLock("first user"); err != nil {
		return false, err
	}
	return has, t.conn.QueryRow(`SELECT EXISTS (SELECT 1 FROM users)`, nil, []any{&has})
}

// MarkVerified marks the address of a user as verified, and so the user's referral. Every way to verify an address ends
// here.
func (t Tx) MarkVerified(id loci.ID) error {
	n, err := t.conn.Exec(`UPDATE users SET verified = ?2,`+Touch+`WHERE id = ?1 AND verified <> ?2`, id, true,
		t.conn.Now)
	if err != nil || n == 0 {
		return err
	}
	_, err = t.conn.Exec(`UPDATE referrals SET verified_at = ?2 WHERE invitee = ?1`, id, t.conn.Now)
	return err
}

// VerifyUser marks the address of a user as verified.
func (t Tx) VerifyUser(e loci.Email) (loci.User, error) {
	l, err := t.UserByEmail(e)
	if err == nil {
		err = t.MarkVerified(l.User.ID)
	}
	if err != nil {
		return l.User, err
	}
	return t.User(l.User.ID)
}

// SetDisabled disables a user, whose credentials are then refused, or enables it again.
func (t Tx) SetDisabled(e loci.Email, disabled bool) (u loci.User, err error) {
	err = t.conn.QueryRow(`UPDATE users SET disabled = ?2 WHERE email_folded = ?1 RETURNING`+userColumns,
		[]any{FoldEmail(e), disabled}, scanUser(&u))
	t.onChange(Change{UserID: u.ID})
	return u, sqldb.MapNoRows(err)
}

// SetPlan gives a user a plan of its own; an empty name ends that.
func (t Tx) SetPlan(e loci.Email, plan loci.PlanName) (u loci.User, err error) {
	err = t.conn.QueryRow(`UPDATE users SET plan = ?2,`+Touch+`WHERE email_folded = ?1 RETURNING`+userColumns,
		[]any{FoldEmail(e), plan, t.conn.Now}, scanUser(&u))
	t.onChange(Change{UserID: u.ID})
	return u, sqldb.MapNoRows(err)
}

// FoldEmail returns the form in which addresses are stored and compared: normalization form C (UAX #15) without letter
// case.
func FoldEmail(e loci.Email) string {
	composed := loci.Email(norm.NFC.String(string(e)))
	return norm.NFC.String(composed.Fold())
}
