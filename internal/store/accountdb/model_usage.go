package accountdb

import "github.com/loci-memory/loci"

// A TokenReservation is a part of the daily tokens of the language model that a call may use.
type TokenReservation struct {
	Tokens int64 // 0: the day has too few left
	DayEnd loci.Time

	day int64
}

// ReserveTokens reserves between least and most of the tokens that all servers have left of the limit of the day (UTC).
func (t Tx) ReserveTokens(limit, least, most int64) (TokenReservation, error) {
	var r TokenReservation
	r.day, r.DayEnd = DayOf(t.Now())
	if _, err := t.conn.Exec(`INSERT INTO model_usage (day, tokens) VALUES (?1, 0) ON CONFLICT (day) DO NOTHING`,
		r.day); err != nil {
		return r, err
	}
	var used int64
	if err := t.conn.QueryRow(`SELECT u.tokens FROM model_usage u WHERE u.day = ?1`+t.conn.LockClause("UPDATE", "u"),
		[]any{r.day}, []any{&used}); err != nil {
		return r, err
	}
	n := min(most, limit-used)
	if n < least {
		return r, nil
	}
	r.Tokens = n
	_, err := t.conn.Exec(`UPDATE model_usage SET tokens = tokens + ?2 WHERE day = ?1`, r.day, n)
	return r, err
}

// SettleTokens replaces a reservation with the tokens that the call has used.
func (t Tx) SettleTokens(r TokenReservation, used int64) error {
	_, err := t.conn.Exec(`UPDATE model_usage SET tokens = tokens + ?2 WHERE day = ?1`, r.day, used-r.Tokens)
	return err
}

// ModelUsage returns the tokens of the day (UTC), with those that running calls have reserved.
func (t Tx) ModelUsage() (tokens int64, err error) {
	today, _ := DayOf(t.Now())
	return tokens, t.conn.QueryRow(`SELECT COALESCE(MAX(tokens), 0) FROM model_usage WHERE day = ?1`,
		[]any{today}, []any{&tokens})
}
