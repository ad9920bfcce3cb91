package store

import (
	"time"
)

// A Rate says how quickly a credential may call, in the terms of the generic cell
// rate algorithm (ITU-T I.371, annex A): calls come Every so often, and may run
// ahead of that by Slack.
type Rate struct{ Interval, Tolerance time.Duration }

// ChargeCalls notes calls of a credential that were let through already, and one
// more if it may come now. It returns when the next call would be due if all came
// evenly, and whether the one more was let through.
func (t *SystemTx) ChargeCalls(credential string, r Rate, now time.Time, calls int) (due time.Time, more bool,
	err error) {
	first := now.Add(time.Duration(calls) * r.Interval)
	latest := now.Add(r.Tolerance)
	alone, next := !first.After(latest), first
	if alone {
		next = first.Add(r.Interval)
	}
	const base = `(CASE WHEN rate_limits.tat > ?4 THEN rate_limits.tat ELSE ?4 END + ?5)`
	var nanoseconds int64
	err = t.t.conn.QueryRow(`INSERT INTO rate_limits (credential, tat, allowed) VALUES (?1, ?2, ?3)
		ON CONFLICT (credential) DO UPDATE SET tat = `+base+` + CASE WHEN `+base+
		` <= ?6 THEN CAST(?7 AS BIGINT) ELSE 0 END, allowed = `+
		base+` <= ?6
		RETURNING tat, allowed`,
		[]any{credential, next.UnixNano(), alone, now.UnixNano(), int64(first.Sub(now)), latest.UnixNano(),
			int64(r.Interval)}, []any{&nanoseconds, &more})
	return time.Unix(0, nanoseconds), more, err
}

// DeleteIdleRates drops what says no more than that a credential may call.
func (t *SystemTx) DeleteIdleRates(now time.Time) error {
	_, err := t.t.exec(`DELETE FROM rate_limits WHERE tat < ?1`, now.UnixNano())
	return err
}
