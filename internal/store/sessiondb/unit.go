package sessiondb

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

const unitColumns = ` u.id, s.id, u.key, u.title, u.status,
	COALESCE((SELECT e.id FROM memories e WHERE e.row_id = u.memory), ''), u.created_at, u.updated_at
	FROM units u JOIN sessions s ON s.row_id = u.session WHERE u.session = ?1 `

func scanUnit(r sqldb.Row) (u loci.Unit, err error) {
	err = r.Scan(&u.ID, &u.SessionID, &u.Key, &u.Title, &u.Status, &u.MemoryID, &u.CreatedAt, &u.UpdatedAt)
	return u, err
}

// Units returns the newest units of a session, newest first.
func (v *View) Units(limit int) ([]loci.Unit, error) {
	list := []loci.Unit{}
	err := v.in.Conn.Query(`SELECT`+unitColumns+`ORDER BY u.created_at DESC, u.id DESC LIMIT ?2`, []any{v.rowID, limit},
		func(row sqldb.Row) error {
			u, err := scanUnit(row)
			list = append(list, u)
			return err
		})
	return list, err
}

// Unit returns a unit of the session, or NotFound.
func (s *Session) Unit(id loci.ID) (loci.Unit, error) {
	u, err := scanUnit(s.in.Conn.Row(`SELECT`+unitColumns+`AND u.id = ?2`, s.rowID, id))
	return u, sqldb.MapNoRows(err)
}

// UnitByKey returns the unit of the session with a key, if there is one.
func (s *Session) UnitByKey(key string) (u loci.Unit, found bool, err error) {
	u, err = scanUnit(s.in.Conn.Row(`SELECT`+unitColumns+`AND u.key = ?2`, s.rowID, key))
	if errors.Is(err, sqldb.ErrNoRows) {
		return u, false, nil
	}
	return u, err == nil, err
}

// OpenUnit returns the key of an open unit of the session, or "".
func (s *Session) OpenUnit() (key string, err error) {
	return key, s.in.Conn.QueryRow(`SELECT COALESCE(min(u.key), '') FROM units u WHERE u.session = ?1
		AND u.status = 'open'`, []any{s.rowID}, []any{&key})
}

// AddUnit stores an open unit.
func (s *Session) AddUnit(key, title string) (loci.Unit, error) {
	t := s.in.Conn
	u := loci.Unit{ID: loci.NewID(t.Now.Std()), SessionID: s.ID, Key: key, Title: title, Status: loci.UnitOpen,
		CreatedAt: t.Now, UpdatedAt: t.Now}
	if _, err := t.Exec(`INSERT INTO units (id, session, key, title, status, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`, u.ID, s.rowID, u.Key, u.Title, u.Status, t.Now); err != nil {
		return u, err
	}
	s.Counts.Units++
	return u, s.SaveStep(loci.HistoryStep{Action: loci.ActionOpened, UnitID: u.ID})
}

// SetUnit writes state, title and memory of a unit.
func (s *Session) SetUnit(u loci.Unit, h loci.HistoryStep) (loci.Unit, error) {
	u.UpdatedAt = max(s.in.Conn.Now, u.UpdatedAt+1)
	if _, err := s.in.Conn.Exec(`UPDATE units SET title = ?2, status = ?3,
		memory = (SELECT e.row_id FROM memories e WHERE e.id = ?4), updated_at = ?5 WHERE id = ?1`, u.ID, u.Title,
		u.Status, u.MemoryID, u.UpdatedAt); err != nil {
		return u, err
	}
	h.UnitID, h.MemoryID = u.ID, u.MemoryID
	return u, s.SaveStep(h)
}

// SaveStep appends a step and saves the session.
func (s *Session) SaveStep(h loci.HistoryStep) error {
	if err := s.Step(h); err != nil {
		return err
	}
	return s.Save()
}
