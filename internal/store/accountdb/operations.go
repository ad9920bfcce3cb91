package accountdb

import "github.com/loci-memory/loci"

// ReserveOperations adds up to n operations to the count of a user's month, which is at most limit. It returns how many
// it added, and the new count.
func (t Tx) ReserveOperations(userID loci.ID, month string, n, limit int64) (got, used int64, err error) {
	if err = t.conn.AdvisoryLock("operations/" + string(userID)); err != nil {
		return 0, 0, err
	}
	before, err := t.UsedOperations(userID, month)
	if err != nil {
		return 0, 0, err
	}
	got = max(0, min(n, limit-before))
	// A concurrent purge may have deleted the user: then no row is inserted.
	_, err = t.conn.Exec(
		`INSERT INTO operations (user_id, month, used) SELECT u.id, CAST(?2 AS TEXT), CAST(?3 AS BIGINT) FROM users u
			WHERE u.id = ?1
		ON CONFLICT (user_id, month) DO UPDATE SET used = operations.used + excluded.used`, userID, month, got)
	return got, before + got, err
}

// ReleaseOperations subtracts unused operations of a reservation from the count.
func (t Tx) ReleaseOperations(userID loci.ID, month string, n int64) error {
	_, err := t.conn.Exec(`UPDATE operations SET used = used - ?3 WHERE user_id = ?1 AND month = ?2`, userID, month, n)
	return err
}

// UsedOperations returns the count of operations of a user's month.
func (t Tx) UsedOperations(userID loci.ID, month string) (used int64, err error) {
	return used, t.conn.QueryRow(`SELECT COALESCE(max(used), 0) FROM operations WHERE user_id = ?1 AND month = ?2`,
		[]any{userID, month}, []any{&used})
}
