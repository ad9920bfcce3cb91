package sessiondb

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Audit returns the audit of an event, if there is one.
func (s *Session) Audit(eventID string) (a loci.Audit, found bool, err error) {
	a.SessionID, a.Adapter = s.ID, s.Adapter
	var rules string
	err = s.in.Conn.QueryRow(`SELECT id, event_id, rules, total, occurred_at, created_at FROM redaction_audits
		WHERE session = ?1 AND event_id = ?2`, []any{s.rowID, eventID},
		[]any{&a.ID, &a.EventID, &rules, &a.Total, &a.OccurredAt, &a.CreatedAt})
	if errors.Is(err, sqldb.ErrNoRows) {
		return a, false, nil
	}
	a.UpdatedAt = a.CreatedAt
	if err == nil {
		err = json.Unmarshal([]byte(rules), &a.Rules)
	}
	return a, err == nil, err
}

// AddAudit stores an audit.
func (s *Session) AddAudit(a loci.Audit) (loci.Audit, error) {
	a.ID, a.SessionID, a.CreatedAt, a.UpdatedAt = loci.NewID(s.in.Conn.Now.Std()), s.ID, s.in.Conn.Now, s.in.Conn.Now
	rules, err := json.Marshal(a.Rules)
	if err != nil {
		return a, err
	}
	if _, err = s.in.Conn.Exec(`INSERT INTO redaction_audits (id, session, event_id, rules, total, occurred_at, created_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`, a.ID, s.rowID, a.EventID, string(rules), a.Total, a.OccurredAt,
		s.in.Conn.Now); err != nil {
		return a, err
	}
	s.audits++
	if err := s.addRedactions(a.Rules); err != nil {
		return a, err
	}
	return a, s.Save()
}

// AddOwnAudit stores what this server has redacted in an event. The client may audit the same event: the key has a tab,
// which no id of a client has.
func (s *Session) AddOwnAudit(e loci.SessionEvent, rules []loci.RedactionCount) error {
	a := loci.Audit{EventID: e.EventID + "\tserver", Rules: rules, OccurredAt: e.OccurredAt}
	for _, x := range rules {
		a.Total += int(x.Count)
	}
	_, err := s.AddAudit(a)
	return err
}

// Redactions returns the sum of the audits of a session by rule, sorted by rule.
func (r *Row) Redactions() ([]loci.RedactionCount, error) {
	list := []loci.RedactionCount{}
	err := json.Unmarshal([]byte(r.redactions), &list)
	return list, err
}

// addRedactions adds the rules of an audit to the sum of the session.
func (s *Session) addRedactions(rules []loci.RedactionCount) error {
	list, err := s.Redactions()
	if err != nil {
		return err
	}
	list = addCounts(list, rules)
	b, err := json.Marshal(list)
	s.redactions = string(b)
	return err
}

// addCounts adds counts by rule to a list that is sorted by rule.
func addCounts(list, counts []loci.RedactionCount) []loci.RedactionCount {
	for _, x := range counts {
		i, found := slices.BinarySearchFunc(list, x.Rule, func(c loci.RedactionCount, rule loci.RuleName) int {
			return cmp.Compare(c.Rule, rule)
		})
		if !found {
			list = slices.Insert(list, i, loci.RedactionCount{Rule: x.Rule})
		}
		list[i].Count += x.Count
	}
	return list
}

// Audits returns the number of audits.
func (r *Row) Audits() int { return r.audits }

// Compilations returns the number of compilations.
func (r *Row) Compilations() int { return r.compilations }

// AddCompilation stores a compilation.
func (s *Session) AddCompilation(c loci.Compilation) (loci.Compilation, error) {
	c.ID, c.SessionID, c.CreatedAt, c.UpdatedAt = loci.NewID(s.in.Conn.Now.Std()), s.ID, s.in.Conn.Now, s.in.Conn.Now
	if _, err := s.in.Conn.Exec(`INSERT INTO compilations (id, session, unit_key, compiler, outcome, memory,
			input_event_ids, created_at) VALUES (?1, ?2, ?3, ?4, ?5,
			(SELECT e.row_id FROM memories e WHERE e.id = ?6), ?7, ?8)`, c.ID, s.rowID, c.UnitKey, c.Compiler, c.Outcome,
		c.MemoryID, sqldb.EncodeStrings(c.InputEventIDs), s.in.Conn.Now); err != nil {
		return c, err
	}
	s.compilations++
	return c, s.Save()
}
