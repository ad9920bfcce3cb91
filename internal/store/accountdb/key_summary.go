package accountdb

import (
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

// UserKey returns the key with an id.
func (t Tx) UserKey(id loci.ID) (UserKey, error) {
	k, err := scanUserKey(t.conn.Row(userKeyQuery+`WHERE k.id = ?1`, id))
	return k, sqldb.NotFoundMessage(err, "There is no API key with this id.")
}
