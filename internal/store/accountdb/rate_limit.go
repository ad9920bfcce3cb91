package accountdb

import (
	"time"

	"github.com/loci-memory/loci"
)

// A Rate is a limit in the terms of the generic cell rate algorithm (ITU-T I.371, annex A). Interval is the time
// between evenly spaced calls. Tolerance is how far calls may be ahead of that.
type Rate struct{ Interval, Tolerance time.Duration }

// ChargeCalls charges calls that were admitted already, and one more call if the rate allows it. It returns the
// theoretical arrival time of the next call, and whether that one more is allowed.
func (t Tx) ChargeCalls(credential loci.ID, r Rate, now time.Time,
	calls int) (due time.Time, more bool, err error) {
	first := now.Add(time.Duration(calls) * r.Interval)
	latest := now.Add(r.Tolerance)
	allowedFirst, next := !first.After(latest), first
	if allowedFirst {
		next = first.Add(r.Interval)
	}
	const base = `(CASE WHEN rate_limits.tat > ?4 THEN rate_limits.tat ELSE ?4 END + ?5)`
	var nanoseconds int64
	err = t.conn.QueryRow(`INSERT INTO rate_limits (credential, tat, allowed) VALUES (?1, ?2, ?3)
		ON CONFLICT (credential) DO UPDATE SET tat = `+base+` + CASE WHEN `+base+
		` <= ?6 THEN CAST(?7 AS BIGINT) ELSE 0 END, allowed = `+
		base+` <= ?6
		RETURNING tat, allowed`,
		[]any{credential, next.UnixNano(), allowedFirst, now.UnixNano(), int64(first.Sub(now)), latest.UnixNano(),
			int64(r.Interval)}, []any{&nanoseconds, &more})
	return time.Unix(0, nanoseconds), more, err
}

// DeleteIdleRates deletes the states of credentials whose rate does not delay them.
func (t Tx) DeleteIdleRates(now time.Time) error {
	_, err := t.conn.Exec(`DELETE FROM rate_limits WHERE tat < ?1`, now.UnixNano())
	return err
}
