package store

import (
	"context"
	"errors"

	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci"
)

// FoldEmail returns the form in which addresses are compared and stored for it: in
// normalization form C (UAX #15), without letter case.
func FoldEmail(e loci.Email) string {
	composed := loci.Email(norm.NFC.String(string(e)))
	return norm.NFC.String(composed.Fold())
}

// normalizeEmails brings the folded addresses of a database into normalization
// form C, once: versions before this one stored them as they were typed. Of two
// accounts with the same address the later one keeps its form.
func (s *Store) normalizeEmails(ctx context.Context) error {
	const done = "addresses in NFC"
	var value string
	err := s.db.read(ctx, "", func(c conn) error {
		return c.queryRow(`SELECT value FROM metadata WHERE name = ?1`, []any{done}, []any{&value})
	})
	if !errors.Is(err, errNoRows) {
		return err
	}
	return s.db.write(ctx, "", func(c conn) error {
		for _, q := range []struct{ read, write string }{
			{`SELECT row_id, email_folded FROM users ORDER BY row_id`,
				`UPDATE users SET email_folded = ?2 WHERE row_id = ?1 AND NOT EXISTS (SELECT 1 FROM users u WHERE u.email_folded = ?2)`},
			{`SELECT row_id, email_folded FROM invitations ORDER BY row_id`,
				`UPDATE invitations SET email_folded = ?2 WHERE row_id = ?1`},
		} {
			if err := normalizeEmailColumn(c, q.read, q.write); err != nil {
				return err
			}
		}
		_, err := c.exec(`INSERT INTO metadata (name, value) VALUES (?1, '') ON CONFLICT (name) DO NOTHING`,
			[]any{done})
		return err
	})
}

func normalizeEmailColumn(c conn, read, write string) error {
	type change struct {
		rid    int64
		folded string
	}
	var changes []change
	err := c.query(read, nil, func(r row) error {
		var x change
		err := r.Scan(&x.rid, &x.folded)
		if folded := norm.NFC.String(x.folded); folded != x.folded {
			changes = append(changes, change{x.rid, folded})
		}
		return err
	})
	for _, x := range changes {
		if err == nil {
			_, err = c.exec(write, []any{x.rid, x.folded})
		}
	}
	return err
}
