package sessiondb

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// turnsBefore is the number of turns among which the one of a unit is looked for.
const turnsBefore = 50

// turnsSince is the moment since which the policy of the user of the session s keeps turns, or NULL.
const turnsSince = `(SELECT NULLIF(p.keep_turns_since, 0) FROM policies p
	WHERE p.user_id = s.user_id AND p.workspace = s.workspace)`

// turnOf returns the SQL text of the newest turn of a kind: the event v itself, or the newest one before it for which
// the condition of, on n, holds. A turn from before turnsSince is none.
func turnOf(kind, of string) string {
	return fmt.Sprintf(`CASE WHEN v.type = '%[1]s' THEN substr(v.content, 1, ?2) ELSE COALESCE((
		SELECT substr(o.content, 1, ?2) FROM session_events o
		WHERE o.created_at >= %[4]s AND o.row_id = (SELECT max(n.row_id) FROM (
			SELECT e.row_id, e.unit_key FROM session_events e WHERE e.session = v.session AND e.type = '%[1]s'
			AND e.row_id < v.row_id ORDER BY e.row_id DESC LIMIT %[3]d) AS n WHERE %[2]s)), '') END`,
		kind, of, turnsBefore, turnsSince)
}

// addTurns adds to candidates the turns that they come from, of events since the policy of their session's user
// says so, as long as the texts are kept. The reader may read the sessions of the candidates.
func addTurns(t *scope.Scope, list []loci.Candidate) error {
	var events []string // each as the session's id and its own
	for _, c := range list {
		for _, id := range eventsOf(c) {
			events = append(events, string(c.SessionID)+id)
		}
	}
	if len(events) == 0 {
		return nil
	}
	turns := map[string]*loci.Turns{}
	err := t.Conn.Query(`SELECT s.id, v.event_id, `+turnOf("prompt", `v.unit_key = '' OR n.unit_key = v.unit_key`)+`, `+
		turnOf("response", "TRUE")+` FROM `+fmt.Sprintf(t.Conn.Dialect.StringRows, 1)+`
		JOIN sessions s ON s.id = substr(list.value, 1, 36)
		JOIN session_events v ON v.session = s.row_id AND v.event_id = substr(list.value, 37)
		WHERE v.type IN ('prompt', 'response') AND v.content <> '' AND v.created_at >= `+turnsSince,
		[]any{sqldb.EncodeStrings(events), loci.MaxTurn}, func(r sqldb.Row) error {
			var session, event string
			x := &loci.Turns{}
			err := r.Scan(&session, &event, &x.Prompt, &x.Answer)
			turns[session+event] = x
			return err
		})
	for i, c := range list {
		for _, id := range eventsOf(c) {
			if x := turns[string(c.SessionID)+id]; x != nil {
				list[i].Turns = x
				break
			}
		}
	}
	return err
}

// eventsOf returns the ids that the event of a candidate can have: its source, or that without the number of a further
// statement of the event.
func eventsOf(c loci.Candidate) []string {
	if c.SourceEventID == "" {
		return nil
	}
	ids := []string{c.SourceEventID}
	if at := strings.LastIndexByte(c.SourceEventID, '#'); at > 0 {
		ids = append(ids, c.SourceEventID[:at])
	}
	return ids
}
