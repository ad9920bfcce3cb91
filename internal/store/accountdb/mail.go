package accountdb

import (
	"time"

	"github.com/loci-memory/loci"
)

// DayOf returns the number of the day (UTC, since 1970) at a time, and when it ends.
func DayOf(now loci.Time) (day int64, end loci.Time) {
	const microseconds = int64(24 * time.Hour / time.Microsecond)
	day = int64(now) / microseconds
	return day, loci.Time((day + 1) * microseconds)
}

// AddMails adds mails to those that a user has sent to others today (UTC). It returns their number, and when the day
// ends. The row is locked until the commit.
func (t Tx) AddMails(userID loci.ID, n int) (sent int64, dayEnd loci.Time, err error) {
	day, dayEnd := DayOf(t.conn.Now)
	err = t.conn.QueryRow(`INSERT INTO mail_usage (user_id, day, mails) VALUES (?1, ?2, ?3)
		ON CONFLICT (user_id, day) DO UPDATE SET mails = mail_usage.mails + excluded.mails RETURNING mails`,
		[]any{userID, day, n}, []any{&sent})
	return sent, dayEnd, err
}

// DeletePastMails deletes the counts of mails of days that have ended.
func (t Tx) DeletePastMails() error {
	today, _ := DayOf(t.conn.Now)
	_, err := t.conn.Exec(`DELETE FROM mail_usage WHERE day < ?1`, today)
	return err
}
