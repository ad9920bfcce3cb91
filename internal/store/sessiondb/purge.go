package sessiondb

import (
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/sqldb"
)

// Erase deletes what sessions keep of the memory, and returns the number of deleted candidates. It reaches links that
// were made since the search too.
func (f *MemoryTraces) Erase(t *sqldb.Tx) (candidates int64, err error) {
	linked, err := linkedSessions(t, f.memory.RowID)
	if err != nil {
		return 0, err
	}
	linked = sortedUnion(linked, f.linked)
	sessions, err := f.lockSessions(t, sortedUnion(linked, f.quoting))
	if err != nil {
		return 0, err
	}
	if candidates, err = f.eraseCandidates(t); err != nil {
		return 0, err
	}
	if err = f.eraseEvents(t, linked); err != nil {
		return 0, err
	}
	if err = f.eraseTexts(t, sessions, linked); err != nil {
		return 0, err
	}
	for _, rowID := range sessions {
		if err := Recount(t, rowID); err != nil {
			return 0, err
		}
	}
	return candidates, nil
}

// linkedSessions returns the sessions that are linked to a memory now.
func linkedSessions(t *sqldb.Tx, memory int64) (list []int64, err error) {
	return list, t.Query(`SELECT c.session FROM candidates c WHERE c.memory = ?1
		UNION SELECT u.session FROM units u WHERE u.memory = ?1
		UNION SELECT k.session FROM compilations k WHERE k.memory = ?1
		UNION SELECT s.row_id FROM sessions s WHERE s.memory = ?1`, []any{memory}, sqldb.ScanInts(&list))
}

// lockSessions locks the sessions of a list, and those of the events that were found. It returns all, ascending.
func (f *MemoryTraces) lockSessions(t *sqldb.Tx, list []int64) (locked []int64, err error) {
	var ofEvents []int64
	if err = t.Query(`SELECT DISTINCT v.session FROM session_events v WHERE `+
		fmt.Sprintf(t.Dialect.InList, "v.row_id", 1), []any{sqldb.EncodeInts(f.events)},
		sqldb.ScanInts(&ofEvents)); err != nil {
		return nil, err
	}
	return locked, t.Query(`SELECT s.row_id FROM sessions s WHERE `+fmt.Sprintf(t.Dialect.InList, "s.row_id", 1)+
		` ORDER BY s.row_id`+t.LockClause("UPDATE", "s"), []any{sqldb.EncodeInts(sortedUnion(list, ofEvents))},
		sqldb.ScanInts(&locked))
}

// eraseCandidates deletes the candidates that became the memory or hold its text, and removes it from the lists of
// others.
func (f *MemoryTraces) eraseCandidates(t *sqldb.Tx) (n int64, err error) {
	n, err = t.Exec(`DELETE FROM candidates WHERE memory = ?2 OR `+fmt.Sprintf(t.Dialect.InList, "row_id", 1),
		sqldb.EncodeInts(f.candidates), f.memory.RowID)
	lists := map[int64]string{}
	if err == nil {
		err = t.Query(`SELECT c.row_id, c.similar_to FROM candidates c WHERE `+
			fmt.Sprintf(t.Dialect.InList, "c.row_id", 1), []any{sqldb.EncodeInts(f.similar)}, func(r sqldb.Row) error {
			var rowID int64
			var list string
			err := r.Scan(&rowID, &list)
			lists[rowID] = list
			return err
		})
	}
	for rowID, list := range lists {
		if err == nil {
			_, err = t.Exec(`UPDATE candidates SET similar_to = ?2 WHERE row_id = ?1`, rowID,
				withoutSimilar(list, f.memory.ID))
		}
	}
	return n, err
}

// eraseEvents deletes the texts of the events of linked sessions, and of others that quote the memory.
func (f *MemoryTraces) eraseEvents(t *sqldb.Tx, linked []int64) error {
	const set = `UPDATE session_events SET content = '', metadata = '' WHERE (content <> '' OR metadata <> '') AND `
	_, err := t.Exec(set+fmt.Sprintf(t.Dialect.InList, "session", 1), sqldb.EncodeInts(linked))
	if err == nil {
		_, err = t.Exec(set+fmt.Sprintf(t.Dialect.InList, "row_id", 1), sqldb.EncodeInts(f.events))
	}
	return err
}

// PurgedText replaces a required text that quoted a purged memory.
const PurgedText = "(purged)"

// eraseTexts deletes snapshots and titles of linked sessions, texts that quote the memory, titles of its units, and its
// id in histories.
func (f *MemoryTraces) eraseTexts(t *sqldb.Tx, sessions, linked []int64) error {
	for _, rowID := range sessions {
		var task, title, summary, snapshot string
		err := t.QueryRow(`SELECT s.task, s.title, s.summary, s.snapshot FROM sessions s WHERE s.row_id = ?1`,
			[]any{rowID}, []any{&task, &title, &summary, &snapshot})
		if err != nil {
			return err
		}
		if f.match.matches(task) {
			task = PurgedText
		}
		if f.match.matches(summary) {
			summary = ""
		}
		isLinked := slices.Contains(linked, rowID)
		if isLinked || f.match.matches(title) { // a linked one is the text of an event, which eraseEvents deletes
			title = ""
		}
		if isLinked || f.match.matches(snapshot) {
			snapshot = ""
		}
		if _, err = t.Exec(`UPDATE sessions SET task = ?2, summary = ?3, snapshot = ?4, title = ?5 WHERE row_id = ?1`,
			rowID, task, summary, snapshot, title); err != nil {
			return err
		}
	}
	for _, k := range f.checkpoints {
		if _, err := t.Exec(`UPDATE checkpoints SET summary = ?3 WHERE session = ?1 AND number = ?2`, k[0], k[1],
			PurgedText); err != nil {
			return err
		}
	}
	if _, err := t.Exec(`UPDATE units SET title = key WHERE memory = ?1`, f.memory.RowID); err != nil {
		return err
	}
	_, err := t.Exec(`UPDATE session_history SET memory_id = '' WHERE memory_id = ?2 AND `+
		fmt.Sprintf(t.Dialect.InList, "session", 1), sqldb.EncodeInts(linked), f.memory.ID)
	return err
}

// sortedUnion returns the members of both lists, ascending and each once.
func sortedUnion(a, b []int64) []int64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
