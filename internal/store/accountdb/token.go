package accountdb

import (
	"bytes"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A TokenKind is the purpose of the secret in a link that a mail carries.
type TokenKind string

// The kinds.
const (
	VerifyToken     TokenKind = "verify" // the address is the user's own
	ResetToken      TokenKind = "reset"  // the user chooses another password
	InvitationToken TokenKind = "invitation"
)

// Lifetimes of the links to users. An invitation has one of its own.
const (
	verifyTokenTTL = 24 * time.Hour
	resetTokenTTL  = time.Hour
)

func (k TokenKind) ttl() time.Duration {
	if k == ResetToken {
		return resetTokenTTL
	}
	return verifyTokenTTL
}

// AddToken stores the hash of a token of a user, and returns when the token expires. Earlier ones stay valid.
func (t Tx) AddToken(userID loci.ID, kind TokenKind, hash []byte) (expires loci.Time, err error) {
	expires = t.conn.Now + loci.Time(kind.ttl().Microseconds())
	_, err = t.conn.Exec(`INSERT INTO tokens (hash, kind, user_id, expires_at) VALUES (?1, ?2, ?3, ?4)`, hash, kind,
		userID, expires)
	return expires, err
}

// validTokenCondition is an SQL condition: the token has the hash ?1 and the kind ?2, and expires after ?3.
const validTokenCondition = ` hash = ?1 AND kind = ?2 AND expires_at > ?3 `

func badLink(err error) error {
	return sqldb.NotFoundMessage(err, "The link is unknown, used or expired: ask for a new one.")
}

// TokenEmail returns the address of the user of a token. It is NotFound unless the token can be used.
func (t Tx) TokenEmail(kind TokenKind, hash []byte) (e loci.Email, err error) {
	err = t.conn.QueryRow(`SELECT u.email FROM users u WHERE u.id = (SELECT user_id FROM tokens
		WHERE `+validTokenCondition+`)`, []any{hash, kind, t.conn.Now}, []any{&e})
	return e, badLink(err)
}

// UseToken returns the user of a token, and deletes all tokens of that kind of the user. Of concurrent calls one
// succeeds, for the others the token is NotFound.
func (t Tx) UseToken(kind TokenKind, hash []byte) (userID loci.ID, err error) {
	used := false
	err = t.conn.Query(`DELETE FROM tokens WHERE kind = ?2 AND user_id = (SELECT user_id FROM tokens
		WHERE `+validTokenCondition+`) RETURNING hash, user_id`, []any{hash, kind, t.conn.Now},
		func(r sqldb.Row) error {
			var deleted []byte
			err := r.Scan(&deleted, &userID)
			used = used || bytes.Equal(deleted, hash)
			return err
		})
	if err == nil && !used {
		err = badLink(sqldb.ErrNoRows)
	}
	return userID, err
}

// DeleteExpiredTokens deletes the tokens of users that have expired. That of an invitation ends with it.
func (t Tx) DeleteExpiredTokens() error {
	_, err := t.conn.Exec(`DELETE FROM tokens WHERE expires_at <= ?1 AND user_id IS NOT NULL`, t.conn.Now)
	return err
}

// ResetPassword replaces the password hash of a user by the link of a mail, which verifies the address. All sign-ins
// end, and the keys and grants too if the address was not verified.
func (t Tx) ResetPassword(id loci.ID, hash string) (u loci.User, err error) {
	if err := t.EndSignIns(id); err != nil {
		return u, err
	}
	if err := t.revokeUnproven(id); err != nil {
		return u, err
	}
	if err := t.MarkVerified(id); err != nil {
		return u, err
	}
	err = t.conn.QueryRow(`UPDATE users SET password = ?2,`+Touch+`WHERE id = ?1 RETURNING`+userColumns,
		[]any{id, hash, t.conn.Now}, scanUser(&u))
	return u, sqldb.MapNoRows(err)
}
