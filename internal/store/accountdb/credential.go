package accountdb

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A sign-in expires 30 days after its last use, and at the age of 90 days.
const (
	SignInIdleTimeout = 30 * 24 * time.Hour
	SignInMaxAge      = 90 * 24 * time.Hour
)

// Limits for one user.
const (
	MaxSignIns = 100
	MaxKeys    = 100 // without revoked ones
)

// A Credential is an API key, a sign-in of a browser, or the grant of an access token.
type Credential struct {
	ID       loci.ID
	Kind     identity.CredentialKind
	UserID   loci.ID
	Email    string
	Plan     identity.Plan // of the user
	BasePlan loci.PlanName // without benefits
	Revoked  bool          // or the user is disabled
	UsedAt   loci.Time
	AgentID  loci.ID   // of the agent that a key or grant proves; empty until an agent uses it
	SeenAt   loci.Time // when that agent was last seen

	// OpenReferral is true from the registration on until the referral is activated. A cached value is therefore never
	// false too long.
	OpenReferral bool

	// Of an access token.
	ExpiresAt    loci.Time
	Workspaces   []loci.ID // that the grant reaches; nil means all of the user's
	SealedSecret []byte    // of the grant
}

// CredentialColumns are the columns of a user u that ScanCredential reads: among them, whether the user's referral is
// not activated.
const CredentialColumns = ` u.id, u.email, u.plan, u.pro_until, u.disabled,
	EXISTS (SELECT 1 FROM referrals r WHERE r.invitee = u.id AND r.activated_at = 0) `

// ScanCredential reads CredentialColumns into c, and the columns that follow into more. A query without a row is
// NotFound.
func (t Tx) ScanCredential(r sqldb.Row, c *Credential, more ...any) error {
	var own loci.PlanName
	var proUntil loci.Time
	err := r.Scan(append([]any{&c.UserID, &c.Email, &own, &proUntil, &c.Revoked, &c.OpenReferral}, more...)...)
	c.Plan, c.BasePlan = t.plans.Effective(own, proUntil, t.conn.Now), t.plans.Of(own).Name
	return sqldb.MapNoRows(err)
}

// liveSignIn is an SQL condition: the sign-in s has not expired. Its arguments are the cutoffs of its last use and of
// its age.
const liveSignIn = ` s.used_at > ?2 AND s.created_at > ?3 `

// LiveGrant is an SQL condition: the grant g has not expired at a time, and reaches the account or a workspace. A user
// who leaves the last workspace of a grant ends it.
func LiveGrant(now string) string {
	return ` g.expires_at > ` + now + ` AND (g.scope = '` + AccountScope + `'
		OR EXISTS (SELECT 1 FROM grant_workspaces x WHERE x.grant_id = g.id)) `
}

// Ended returns those of the credentials that have ended: they were revoked or have expired, or their user is disabled.
func (t Tx) Ended(credentials []loci.ID) (ended []loci.ID, err error) {
	q := `SELECT list.value FROM ` + fmt.Sprintf(t.conn.Dialect.StringRows, 1) + ` WHERE TRUE`
	for _, x := range [][3]string{{"api_keys", "k", ` k.revoked_at = 0 `}, {"sign_ins", "s", liveSignIn},
		{"grants", "g", LiveGrant("?4")}} {
		q += fmt.Sprintf(` AND NOT EXISTS (SELECT 1 FROM %[1]s %[2]s JOIN users u ON u.id = %[2]s.user_id
			WHERE %[2]s.id = list.value AND NOT u.disabled AND %[3]s)`, x[0], x[1], x[2])
	}
	err = t.conn.Query(q, []any{sqldb.EncodeStrings(credentials), t.cutoff(SignInIdleTimeout), t.cutoff(SignInMaxAge),
		t.conn.Now}, func(r sqldb.Row) error {
		var id loci.ID
		err := r.Scan(&id)
		ended = append(ended, id)
		return err
	})
	return ended, err
}

// Credential returns the key or sign-in whose secret has this hash.
func (t Tx) Credential(kind identity.CredentialKind, hash []byte) (c Credential, err error) {
	return t.credential(kind, "hash", hash)
}

// CredentialByID returns the key or sign-in with an id.
func (t Tx) CredentialByID(kind identity.CredentialKind, id loci.ID) (c Credential, err error) {
	return t.credential(kind, "id", id)
}

// credential returns the key or sign-in with a value in a column.
func (t Tx) credential(kind identity.CredentialKind, column string, value any) (c Credential, err error) {
	c.Kind = kind
	if kind == identity.CredentialCookie {
		err = t.ScanCredential(t.conn.Row(`SELECT`+CredentialColumns+`, s.id, s.used_at FROM sign_ins s
			JOIN users u ON u.id = s.user_id WHERE s.`+column+` = ?1 AND`+liveSignIn,
			value, t.cutoff(SignInIdleTimeout), t.cutoff(SignInMaxAge)), &c, &c.ID, &c.UsedAt)
		return c, err
	}
	var revoked loci.Time
	err = t.ScanCredential(t.conn.Row(`SELECT`+CredentialColumns+`, k.id, k.last_used_at, k.revoked_at,
		COALESCE(g.id, ''), COALESCE(g.last_seen_at, 0) FROM api_keys k JOIN users u ON u.id = k.user_id
		LEFT JOIN agents g ON g.key_id = k.id WHERE k.`+column+` = ?1`, value), &c, &c.ID, &c.UsedAt, &revoked,
		&c.AgentID, &c.SeenAt)
	c.Revoked = c.Revoked || revoked != 0
	return c, err
}

func (t Tx) cutoff(d time.Duration) loci.Time {
	return t.conn.Now - loci.Time(d.Microseconds())
}

// A UseColumn is the column with the time of the last use of a kind of record.
type UseColumn struct{ table, column string }

// The columns with times of last use.
var (
	KeyUses    = UseColumn{"api_keys", "last_used_at"}
	SignInUses = UseColumn{"sign_ins", "used_at"}
	GrantUses  = UseColumn{"grants", "last_used_at"}
	AgentUses  = UseColumn{"agents", "last_seen_at"}
)

// UsesOf returns the column for a kind of credential.
func UsesOf(kind identity.CredentialKind) UseColumn {
	switch kind {
	case identity.CredentialCookie:
		return SignInUses
	case identity.CredentialToken, identity.CredentialAccount:
		return GrantUses
	}
	return KeyUses
}

// Touch writes the times of last use of records, by id.
func (t Tx) Touch(c UseColumn, at map[loci.ID]loci.Time) error {
	for _, id := range slices.Sorted(maps.Keys(at)) { // all writers lock the rows in this order
		if _, err := t.conn.Exec(`UPDATE `+c.table+` SET `+c.column+` = ?2 WHERE id = ?1 AND `+c.column+` < ?2`, id,
			at[id]); err != nil {
			return err
		}
	}
	return nil
}

// A NewSignIn is a signed-in browser to store. Of its secret only Hash is stored.
type NewSignIn struct {
	Hash      []byte
	UserAgent string
	Address   string
	Password  string // hash with which the password was compared; empty if the sign-in needs none
}

// AddSignIn stores the sign-in of a browser. A user with MaxSignIns sign-ins loses the least recently used one. A
// password that has changed since it was compared is NotFound.
func (t Tx) AddSignIn(userID loci.ID, n NewSignIn) error {
	if err := t.lockSignIns(userID); err != nil {
		return err
	}
	if n.Password != "" {
		if hash, err := t.PasswordOf(userID); err != nil || hash != n.Password {
			return cmp.Or(err, error(loci.NewError(loci.CodeNotFound)))
		}
	}
	if err := t.endSignIns(`id IN (SELECT id FROM sign_ins WHERE user_id = ?1 ORDER BY used_at DESC, id DESC
		LIMIT ?2 OFFSET ?3)`, userID, math.MaxInt32, MaxSignIns-1); err != nil {
		return err
	}
	_, err := t.conn.Exec(`INSERT INTO sign_ins (id, user_id, hash, user_agent, address, created_at, used_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`, loci.NewID(t.conn.Now.Std()), userID, n.Hash, n.UserAgent, n.Address,
		t.conn.Now)
	return err
}

// lockSignIns makes new sign-ins of a user wait for the commit, so that none escapes their end.
func (t Tx) lockSignIns(userID loci.ID) error {
	return t.conn.AdvisoryLock(string(userID) + "/sign_ins")
}

// EndSignIns deletes all sign-ins of a user.
func (t Tx) EndSignIns(userID loci.ID) error {
	if err := t.lockSignIns(userID); err != nil {
		return err
	}
	return t.endSignIns(`user_id = ?1`, userID)
}

// endSignIns deletes the sign-ins that meet a condition.
func (t Tx) endSignIns(condition string, args ...any) error {
	return t.conn.Query(`DELETE FROM sign_ins WHERE `+condition+` RETURNING id`, args, func(r sqldb.Row) error {
		var id loci.ID
		err := r.Scan(&id)
		t.onChange(Change{CredentialID: id})
		return err
	})
}

// SetPassword replaces the password hash of a user, unless it changed meanwhile. It ends the sign-ins but one, and the
// links that choose a password.
func (t Tx) SetPassword(userID loci.ID, was, hash string, except loci.ID) error {
	if err := t.lockSignIns(userID); err != nil {
		return err
	}
	n, err := t.conn.Exec(`UPDATE users SET password = ?3, updated_at = ?4 WHERE id = ?1 AND password = ?2`, userID,
		was, hash, t.conn.Now)
	if err == nil && n == 0 {
		err = NewPasswordChangedError()
	}
	if err != nil {
		return err
	}
	if _, err := t.conn.Exec(`DELETE FROM tokens WHERE user_id = ?1 AND kind = ?2`, userID, ResetToken); err != nil {
		return err
	}
	return t.endSignIns(`user_id = ?1 AND id <> ?2`, userID, except)
}

// NewPasswordChangedError returns the error of a call whose password was replaced while it was checked.
func NewPasswordChangedError() error {
	return loci.Errorf(loci.CodeConflict, "The password has changed meanwhile: sign in with the new one.")
}

// DeleteExpiredSignIns deletes the sign-ins that have expired.
func (t Tx) DeleteExpiredSignIns() (int64, error) {
	return t.conn.Exec(`DELETE FROM sign_ins WHERE used_at <= ?1 OR created_at <= ?2`, t.cutoff(SignInIdleTimeout),
		t.cutoff(SignInMaxAge))
}

// KeyColumns are the columns that ScanKey reads.
const KeyColumns = ` id, name, prefix, created_at, updated_at, last_used_at, revoked_at `

// ScanKey returns the destinations of KeyColumns.
func ScanKey(k *loci.APIKey) []any {
	return []any{&k.ID, &k.Name, &k.Prefix, &k.CreatedAt, &k.UpdatedAt, &k.LastUsedAt, &k.RevokedAt}
}

// A NewKey is an API key to store. Of the key itself only Hash is stored.
type NewKey struct {
	Name   string
	Prefix string
	Hash   []byte
}

// AddKey stores a key of a user for the operator. MaxKeys does not apply, so that the operator can help a user who lost
// all keys.
func (t Tx) AddKey(userID loci.ID, n NewKey) (k loci.APIKey, err error) {
	err = t.conn.QueryRow(
		`INSERT INTO api_keys (id, user_id, name, prefix, hash, created_at, updated_at, last_used_at, revoked_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 0, 0) RETURNING`+KeyColumns,
		[]any{loci.NewID(t.conn.Now.Std()), userID, n.Name, n.Prefix, n.Hash, t.conn.Now}, ScanKey(&k))
	return k, err
}

// lockKeys makes new keys of a user wait for the commit.
func (t Tx) lockKeys(userID loci.ID) error { return t.conn.AdvisoryLock(string(userID) + "/keys") }

// AddLimitedKey stores a key that a user makes with a credential, which must be live. The user has at most MaxKeys.
func (t Tx) AddLimitedKey(userID loci.ID, by identity.CredentialKind, credential loci.ID,
	n NewKey) (k loci.APIKey, err error) {
	if err := t.lockKeys(userID); err != nil {
		return k, err
	}
	if err := t.RequireLiveCredential(userID, by, credential); err != nil {
		return k, err
	}
	live := 0
	err = t.conn.QueryRow(`SELECT count(*) FROM api_keys WHERE user_id = ?1 AND revoked_at = 0`, []any{userID},
		[]any{&live})
	if err != nil {
		return k, err
	}
	if live >= MaxKeys {
		return k, loci.Errorf(loci.CodeStateConflict,
			"You have %d API keys, the most that a user may have: revoke one that you do not need.", live)
	}
	return t.AddKey(userID, n)
}

// revokeUnproven revokes the keys and ends the grants of a user whose address is not verified: another person may have
// registered it. The sign-ins have ended, and with them the codes.
func (t Tx) revokeUnproven(userID loci.ID) error {
	if err := t.lockKeys(userID); err != nil {
		return err
	}
	const unproven = ` user_id = ?1 AND NOT (SELECT u.verified FROM users u WHERE u.id = ?1) `
	if _, err := t.conn.Exec(`DELETE FROM grants WHERE`+unproven, userID); err != nil {
		return err
	}
	_, err := t.conn.Exec(`UPDATE api_keys SET revoked_at = ?2, updated_at = ?2 WHERE revoked_at = 0 AND`+unproven,
		userID, t.conn.Now)
	t.onChange(Change{UserID: userID})
	return err
}

// RevokeKey revokes a key of a user. A revoked key keeps the time of its first revocation.
func (t Tx) RevokeKey(userID, id loci.ID) error {
	n, err := t.conn.Exec(
		`UPDATE api_keys SET revoked_at = CASE revoked_at WHEN 0 THEN ?3 ELSE revoked_at END, updated_at = ?3
			WHERE id = ?1 AND user_id = ?2`, id, userID, t.conn.Now)
	if err == nil && n == 0 {
		return loci.NewError(loci.CodeNotFound)
	}
	t.onChange(Change{CredentialID: id})
	return err
}

// EndSignIn deletes a sign-in of a user, or returns NotFound.
func (t Tx) EndSignIn(userID, id loci.ID) error {
	n, err := t.conn.Exec(`DELETE FROM sign_ins WHERE id = ?1 AND user_id = ?2`, id, userID)
	if err == nil && n == 0 {
		return loci.NewError(loci.CodeNotFound)
	}
	t.onChange(Change{CredentialID: id})
	return err
}

// RequireLiveCredential refuses a key, a sign-in or a grant of a user that has ended. No other call deletes it until
// the commit.
func (t Tx) RequireLiveCredential(userID loci.ID, kind identity.CredentialKind, id loci.ID) error {
	query := map[identity.CredentialKind]string{
		identity.CredentialKey: `SELECT 1 FROM api_keys c WHERE c.id = ?1 AND c.user_id = ?2
			AND c.revoked_at = 0`,
		identity.CredentialCookie:  `SELECT 1 FROM sign_ins c WHERE c.id = ?1 AND c.user_id = ?2`,
		identity.CredentialAccount: `SELECT 1 FROM grants c WHERE c.id = ?1 AND c.user_id = ?2`,
	}[kind]
	if query == "" {
		return nil // of this device: no other kind makes keys
	}
	var one int
	err := sqldb.MapNoRows(t.conn.QueryRow(query+t.conn.LockClause("KEY SHARE", "c"), []any{id, userID}, []any{&one}))
	if loci.Is(err, loci.CodeNotFound) {
		return loci.NewError(loci.CodeRevoked)
	}
	return err
}
