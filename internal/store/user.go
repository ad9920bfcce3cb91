package store

import (
	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

const userColumns = ` id, email, name, verified, created_at, updated_at `

func scanUser(u *loci.User) []any {
	return []any{&u.ID, &u.Email, &u.Name, &u.EmailVerified, &u.CreatedAt, &u.UpdatedAt}
}

// CurrentUser returns the actor's user.
func (t *Tx) CurrentUser() (u loci.User, err error) {
	err = t.conn.QueryRow(`SELECT`+userColumns+`FROM users WHERE id = ?1`, []any{t.actor.UserID}, scanUser(&u))
	return u, sqldb.MapNoRows(err)
}

// A NewUser is an account to store.
type NewUser struct {
	Email    loci.Email
	Name     string
	Password string // a PHC string; empty rejects every password
	Verified bool
	Referral string
}

// AddUser makes a user with a personal workspace and its Inbox. An existing address in any letter case is a conflict.
func (t *SystemTx) AddUser(n NewUser) (u loci.User, err error) {
	u = loci.User{ID: loci.NewID(t.t.conn.Now.Std()), Email: string(n.Email), Name: n.Name, EmailVerified: n.Verified,
		CreatedAt: t.t.conn.Now, UpdatedAt: t.t.conn.Now}
	inserted, err := t.t.exec(
		`INSERT INTO users (id, email, email_folded, name, password, verified, referral, plan,
			created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '', ?8, ?8) ON CONFLICT (email_folded) DO NOTHING`,
		u.ID, u.Email, FoldEmail(n.Email), u.Name, n.Password, n.Verified, n.Referral, t.t.conn.Now)
	if err != nil {
		return u, err
	}
	if inserted == 0 {
		return u, loci.Errorf(loci.CodeConflict, "There is an account with this address already: sign in, or use "+
			"another address.")
	}
	w, err := t.t.addWorkspace("Personal", u.ID, true)
	if err != nil {
		return u, err
	}
	_, err = t.t.addAtlas(w, loci.Atlas{Name: loci.InboxName, Default: true, Keywords: []string{}})
	return u, err
}

// A UserPassword is a user with the hash of the password.
type UserPassword struct {
	User loci.User
	Hash string
}

// UserByEmail returns the user with this address in any letter case, or NotFound.
func (t *SystemTx) UserByEmail(e loci.Email) (l UserPassword, err error) {
	err = t.t.conn.QueryRow(`SELECT`+userColumns+`, password FROM users WHERE email_folded = ?1`, []any{FoldEmail(e)},
		append(scanUser(&l.User), &l.Hash))
	return l, sqldb.MapNoRows(err)
}

// HasUsers reports whether a user exists. In a write transaction it takes a lock until the commit, so that concurrent
// setups make one first user.
func (t *SystemTx) HasUsers() (has bool, err error) {
	if err := t.t.conn.AdvisoryLock("first user"); err != nil {
		return false, err
	}
	return has, t.t.conn.QueryRow(`SELECT EXISTS (SELECT 1 FROM users)`, nil, []any{&has})
}

// VerifyUser marks the address of a user as verified.
func (t *SystemTx) VerifyUser(e loci.Email) (u loci.User, err error) {
	err = t.t.conn.QueryRow(`UPDATE users SET verified = ?2, updated_at = ?3 WHERE email_folded = ?1 RETURNING`+
		userColumns, []any{FoldEmail(e), true, t.t.conn.Now}, scanUser(&u))
	return u, sqldb.MapNoRows(err)
}

// SetPlan gives a user a plan of its own; an empty name ends that.
func (t *SystemTx) SetPlan(e loci.Email, plan loci.PlanName) (u loci.User, err error) {
	err = t.t.conn.QueryRow(`UPDATE users SET plan = ?2, updated_at = ?3 WHERE email_folded = ?1 RETURNING`+
		userColumns, []any{FoldEmail(e), plan, t.t.conn.Now}, scanUser(&u))
	return u, sqldb.MapNoRows(err)
}

// FoldEmail returns the form in which addresses are stored and compared: normalization form C (UAX #15) without letter
// case.
func FoldEmail(e loci.Email) string {
	composed := loci.Email(norm.NFC.String(string(e)))
	return norm.NFC.String(composed.Fold())
}
