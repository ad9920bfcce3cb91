package accountdb

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A UserKey is an API key with its user, as the operator sees it.
type UserKey struct {
	loci.APIKey
	UserID loci.ID `json:"userId"`
	Email  string  `json:"email"`

	rowID int64
}

const userKeyQuery = `SELECT k.id, k.name, k.prefix, k.created_at, k.updated_at, k.last_used_at, k.revoked_at, k.row_id,
	u.id, u.email FROM api_keys k JOIN users u ON u.id = k.user_id `

func scanUserKey(r sqldb.Row) (k UserKey, err error) {
	return k, r.Scan(append(ScanKey(&k.APIKey), &k.rowID, &k.UserID, &k.Email)...)
}

// UserKeys returns the next SummaryBatch keys after one, oldest first: of the user with an address, or of all users.
// The zero UserKey begins the list.
func (t Tx) UserKeys(e loci.Email, after UserKey) (list []UserKey, err error) {
	err = t.conn.Query(userKeyQuery+`WHERE k.row_id > ?1 AND (?2 = '' OR u.email_folded = ?2) ORDER BY k.row_id
		LIMIT ?3`, []any{after.rowID, FoldEmail(e), SummaryBatch}, func(r sqldb.Row) error {
		k, err := scanUserKey(r)
		list = append(list, k)
		return err
	})
	return list, err
}

// UserKey returns the key with an id, or with the only id that begins with a text of at least minIDPrefix characters.
func (t Tx) UserKey(id string) (k UserKey, err error) {
	whole, err := t.wholeID("api_keys", "API key", id)
	if err != nil {
		return k, err
	}
	return scanUserKey(t.conn.Row(userKeyQuery+`WHERE k.id = ?1`, whole))
}

// minIDPrefix is the least number of characters that may stand for an id: they cover a minute.
const minIDPrefix = 8

// wholeID returns the id in a table that begins with a text.
func (t Tx) wholeID(table, what, start string) (id loci.ID, err error) {
	start = strings.ToLower(start)
	if len(start) < minIDPrefix {
		return "", loci.Errorf(loci.CodeInvalidQuery, "Name the %s by its id, or by at least the first %d characters "+
			"of it.", what, minIDPrefix)
	}
	n := 0
	err = t.conn.QueryFew(`SELECT id FROM `+table+` WHERE substr(id, 1, ?2) = ?1 LIMIT 2`, []any{start, len(start)},
		func(r sqldb.Row) error {
			n++
			return r.Scan(&id)
		})
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "", loci.Errorf(loci.CodeNotFound, "No %s has the id %q.", what, start)
	case n > 1:
		return "", loci.Errorf(loci.CodeInvalidQuery, "Several ids begin with %s: give more of the one that you mean.",
			start)
	}
	return id, nil
}
