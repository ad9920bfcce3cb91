package sessiondb

import (
	"encoding/json"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Counters are what a session keeps of its rows. Checkpoints and Steps are the highest numbers.
type Counters struct {
	Candidates, Pending, Checkpoints, Units, Events, Audits, Compilations int64

	Steps      int64
	HasTexts   bool   // of events
	Redactions string // the sum of the audits
}

// A Count is the counters of a session as stored, and as its rows are.
type Count struct {
	RowID           int64
	ID              loci.ID
	Stored, Counted Counters

	Misplaced int64 // candidates of another workspace, atlas or user than the session's
}

// HasLostRows reports whether the session has counted more rows than it has.
func (c Count) HasLostRows() bool {
	have, want := c.Counted, c.Stored
	return want.Candidates > have.Candidates || want.Checkpoints > have.Checkpoints || want.Units > have.Units ||
		want.Events > have.Events || want.Audits > have.Audits || want.Compilations > have.Compilations
}

// countColumns are the columns of sessions s for a Count, without the sum of the audits.
const countColumns = ` s.row_id, s.id, s.candidates, s.pending, s.checkpoints, s.units, s.events, s.audits,
	s.compilations, s.steps, s.has_texts, s.redactions,
	(SELECT count(*) FROM candidates c WHERE c.session = s.row_id),
	(SELECT count(*) FROM candidates c WHERE c.session = s.row_id AND c.status = 'pending'),
	(SELECT COALESCE(max(k.number), 0) FROM checkpoints k WHERE k.session = s.row_id),
	(SELECT count(*) FROM units u WHERE u.session = s.row_id),
	(SELECT count(*) FROM session_events v WHERE v.session = s.row_id),
	(SELECT count(*) FROM redaction_audits r WHERE r.session = s.row_id),
	(SELECT count(*) FROM compilations k WHERE k.session = s.row_id),
	(SELECT COALESCE(max(h.step), 0) FROM session_history h WHERE h.session = s.row_id),
	EXISTS (SELECT 1 FROM session_events v WHERE v.session = s.row_id AND` + withText + `),
	(SELECT count(*) FROM candidates c WHERE c.session = s.row_id
		AND (c.workspace <> s.workspace OR c.atlas <> s.atlas OR c.user_id <> s.user_id)) `

// CountSessions counts the rows of sessions. It leaves out those that are deleted, or are of a deleted atlas: their
// rows are erased in several transactions. An atlas of another workspace is damage, which candidates must not copy.
func CountSessions(t *sqldb.Tx, rowIDs []int64) (list []Count, err error) {
	err = t.Query(`SELECT`+countColumns+`FROM sessions s JOIN atlases a ON a.row_id = s.atlas WHERE `+
		fmt.Sprintf(t.Dialect.InList, "s.row_id", 1)+` AND a.workspace = s.workspace
		ORDER BY s.row_id`, []any{sqldb.EncodeInts(rowIDs)}, func(row sqldb.Row) error {
		var c Count
		err := row.Scan(append(append([]any{&c.RowID, &c.ID}, c.Stored.dest()...), append(c.Counted.dest()[:9],
			&c.Misplaced)...)...)
		c.Counted.Steps = max(c.Counted.Steps, c.Stored.Steps) // a purge deletes steps
		list = append(list, c)
		return err
	})
	for i := range list {
		if err == nil {
			list[i].Counted.Redactions, err = sumAudits(t, list[i])
		}
	}
	return list, err
}

func (c *Counters) dest() []any {
	return []any{&c.Candidates, &c.Pending, &c.Checkpoints, &c.Units, &c.Events, &c.Audits, &c.Compilations, &c.Steps,
		&c.HasTexts, &c.Redactions}
}

// sumAudits returns the sum of the audits of a session. Damaged ones are not counted.
func sumAudits(t *sqldb.Tx, c Count) (string, error) {
	sum := []loci.RedactionCount{}
	if c.Counted.Audits == 0 {
		return sqldb.EmptyList, nil
	}
	err := t.Query(`SELECT r.rules FROM redaction_audits r WHERE r.session = ?1`, []any{c.RowID},
		func(row sqldb.Row) error {
			var text string
			var rules []loci.RedactionCount
			err := row.Scan(&text)
			if json.Unmarshal([]byte(text), &rules) == nil {
				sum = addCounts(sum, rules)
			}
			return err
		})
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(sum)
	return string(b), err
}

// Recount writes the counters of a session as its rows are. A session that was deleted meanwhile stays as it is.
func Recount(t *sqldb.Tx, rowID int64) error {
	if err := t.Query(`SELECT s.row_id FROM sessions s WHERE s.row_id = ?1`+t.LockClause("NO KEY UPDATE", "s"),
		[]any{rowID}, func(sqldb.Row) error { return nil }); err != nil {
		return err
	}
	list, err := CountSessions(t, []int64{rowID})
	if err != nil || len(list) == 0 {
		return err
	}
	c := list[0].Counted
	_, err = t.Exec(`UPDATE sessions SET candidates = ?2, pending = ?3, checkpoints = ?4, units = ?5, events = ?6,
		audits = ?7, compilations = ?8, steps = ?9, has_texts = ?10, redactions = ?11 WHERE row_id = ?1`, rowID,
		c.Candidates, c.Pending, c.Checkpoints, c.Units, c.Events, c.Audits, c.Compilations, c.Steps, c.HasTexts,
		c.Redactions)
	return err
}

// PlaceCandidates gives the candidates of a session its place.
func PlaceCandidates(t *sqldb.Tx, rowID int64) error {
	_, err := t.Exec(`UPDATE candidates SET (workspace, atlas, user_id) = (SELECT s.workspace, s.atlas, s.user_id
		FROM sessions s WHERE s.row_id = ?1) WHERE session = ?1`, rowID)
	return err
}
