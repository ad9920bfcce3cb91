package messagedb

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// purgeWindow is the number of messages that one transaction reads.
const purgeWindow = 200

// A Search looks for messages of a workspace with texts that match.
type Search struct {
	Workspace int64
	Matches   func(texts ...string) bool

	found []int64
	last  int64 // the messages up to it were read
}

// Found returns the number of messages that were found.
func (s *Search) Found() int64 { return int64(len(s.found)) }

// Run searches the workspace before the transaction of a purge, because other writers would wait for it.
func (s *Search) Run(ctx context.Context, db *sqldb.Handle) error {
	for more := true; more; {
		next, err := sqldb.SystemRead(ctx, db, "look for a text in messages", s.next)
		if err != nil {
			return err
		}
		more = s.add(next)
	}
	return nil
}

// A searchWindow is what a query has found in some messages.
type searchWindow struct {
	found []int64
	last  int64
	n     int
}

// next reads the messages of the next window.
func (s *Search) next(t *sqldb.Tx) (w searchWindow, err error) {
	w.last = s.last
	return w, t.Query(`SELECT x.row_id, x.subject, x.content FROM messages x WHERE x.workspace = ?1 AND x.row_id > ?2
		ORDER BY x.row_id LIMIT ?3`, []any{s.Workspace, s.last, purgeWindow}, func(r sqldb.Row) error {
		var subject, content string
		err := r.Scan(&w.last, &subject, &content)
		if w.n++; s.Matches(subject, content) {
			w.found = append(w.found, w.last)
		}
		return err
	})
}

// add reports whether more messages may follow.
func (s *Search) add(w searchWindow) (more bool) {
	s.found, s.last = append(s.found, w.found...), w.last
	return w.n == purgeWindow
}

// Purge replaces the texts of the messages that were found, and of those that were sent since. Their receipts stay.
func (s *Search) Purge(t *sqldb.Tx, text string) error {
	var id loci.ID
	if err := t.QueryRow(`SELECT w.id FROM workspaces w WHERE w.row_id = ?1`, []any{s.Workspace}, []any{&id}); err != nil {
		return err
	}
	if err := lockSenders(t, id); err != nil {
		return err
	}
	for more := true; more; {
		next, err := s.next(t)
		if err != nil {
			return err
		}
		more = s.add(next)
	}
	_, err := t.Exec(`UPDATE messages SET subject = '', content = ?2 WHERE `+fmt.Sprintf(t.Dialect.InList, "row_id", 1),
		sqldb.EncodeInts(s.found), text)
	return err
}
