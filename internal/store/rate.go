package store

import (
	"time"
)

// A Rate says how quickly a credential may call, in the terms of the generic cell
// rate algorithm (ITU-T I.371, annex A): calls come Every so often, and may run
// ahead of that by Slack.
type Rate struct{ Every, Slack time.Duration }

// ChargeCalls notes calls of a credential that were let through already, and one
// more if it may come now. It returns when the next call would be due if all came
// evenly, and whether the one more was let through.
func (t *SystemTx) ChargeCalls(credential string, r Rate, now time.Time, calls int) (due time.Time, more bool, err error) {
	first := now.Add(time.Duration(calls) * r.Every)
	latest := now.Add(r.Slack)
	alone, next := !first.After(latest), first
	if alone {
		next = first.Add(r.Every)
	}
	const base = `(CASE WHEN rates.due > ?4 THEN rates.due ELSE ?4 END + ?5)`
	var nanoseconds int64
	err = t.t.c.one(`INSERT INTO rates (credential, due, more) VALUES (?1, ?2, ?3)
		ON CONFLICT (credential) DO UPDATE SET due = `+base+` + CASE WHEN `+base+` <= ?6 THEN ?7 ELSE 0 END, more = `+base+` <= ?6
		RETURNING due, more`,
		[]any{credential, next.UnixNano(), alone, now.UnixNano(), int64(first.Sub(now)), latest.UnixNano(), int64(r.Every)}, []any{&nanoseconds, &more})
	return time.Unix(0, nanoseconds), more, err
}

// ForgetCalls drops what says no more than that a credential may call.
func (t *SystemTx) ForgetCalls(now time.Time) error {
	_, err := t.t.exec(`DELETE FROM rates WHERE due < ?1`, now.UnixNano())
	return err
}
