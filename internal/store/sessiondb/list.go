package sessiondb

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// A Filter limits a list of sessions or of their candidates. An empty field does not limit it.
type Filter struct {
	WorkspaceID, AtlasID, SessionID loci.ID
	Status                          string // of the session or the candidate: one, or a list of Statuses
	Managed                         bool   // those of all members, for managers
	Archived                        bool   // archived sessions too
}

// Statuses returns the status of a filter by several.
func Statuses[T ~string](list []T) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return string(list[0])
	}
	return sqldb.EncodeStrings(list)
}

// statusCondition returns the condition of rows x in the statuses of a filter. PostgreSQL estimates the rows of one
// status better than those of a list, which must not change the order in which it reads.
func (f Filter) statusCondition(d *sqldb.Dialect) string {
	if strings.HasPrefix(f.Status, "[") {
		return `(x.status IN (SELECT list.value FROM ` + fmt.Sprintf(d.StringRows, 7) + `)) IS TRUE`
	}
	return `(?7 = '' OR x.status = ?7)`
}

// A list reads sessions or their candidates. Its page is the newest rows of index ranges, which a subquery reads in
// their order; then come the columns of these rows. So the cost depends on the page size.
type list struct {
	table, alias string
	where        string   // condition of a row on the page, with the placeholders of args, of seek and of a limit
	ranges       []string // conditions of index ranges
	args         []any    // from ?2 on
}

// sessionInScope is the condition of sessions s in workspaces of the actor and atlases that are not deleted. As a
// scalar subquery it leaves the order of rows to the index of the list. PostgreSQL takes IS NOT NULL for likely.
func sessionInScope(t *scope.Scope, where string) string {
	return ` (SELECT 1 FROM sessions s` + t.MembershipJoin("s.workspace") + `JOIN atlases a ON a.row_id = s.atlas
		AND a.workspace = s.workspace ` + where + ` AND s.archived IN (?4, ?5) AND (?6 = '' OR s.id = ?6)) IS NOT NULL `
}

// newList returns the list of a filter of sessions s or candidates c.
func newList(t *scope.Scope, table, alias, reach, status string, f Filter,
	p page.Request) (l *list, err error) {
	r := scope.Places{}
	if f.WorkspaceID != "" || f.AtlasID != "" {
		if r, err = t.Resolve(f.WorkspaceID, f.AtlasID); err != nil {
			return nil, err
		}
	}
	workspace := int64(0)
	if len(r.Workspaces) > 0 {
		workspace = r.Workspaces[0]
	}
	if f.Managed {
		if err := requireManager(t, workspace); err != nil {
			return nil, err
		}
	}
	l = &list{table: table, alias: alias, args: []any{workspace, r.Atlas, false, f.Archived || f.SessionID != "",
		f.SessionID, f.Status}}
	l.where = strings.ReplaceAll(`(?2 = 0 OR x.workspace = ?2) AND (?3 = 0 OR x.atlas = ?3) AND `+status+
		` AND (x.created_at, x.id) < (?8, ?9) AND`, "x.", alias+".") + sessionInScope(t, reach)
	switch {
	case f.SessionID != "":
		l.ranges = []string{alias + `.session = (SELECT o.row_id FROM sessions o WHERE o.id = ?6)`}
	case !f.Managed:
		l.ranges = []string{alias + `.user_id = ?1`}
	case workspace != 0:
		l.ranges = []string{alias + `.workspace = ?2`}
	default:
		err = managedRanges(t, l, p)
	}
	return l, err
}

// managedRanges sets the ranges of the workspaces that the actor manages: those that can have rows on the page, as in
// newestRanges.
func managedRanges(t *scope.Scope, l *list, p page.Request) error {
	at, id, rows := p.Seek()
	return t.QueryFew(fmt.Sprintf(`SELECT workspace FROM (SELECT workspace,
			rank() OVER (ORDER BY newest_at DESC) AS newest_rank FROM (SELECT o.row_id AS workspace,
				(SELECT %[1]s.created_at FROM %[2]s %[1]s WHERE %[1]s.workspace = o.row_id AND %[3]s
				ORDER BY %[1]s.created_at DESC, %[1]s.id DESC LIMIT 1) AS newest_at
			FROM (SELECT w.row_id FROM`+t.MembershipSubquery()+`WHERE m.role <> 'member') AS o
			LIMIT 1000000000) AS newest_of WHERE newest_at IS NOT NULL) AS ranked WHERE newest_rank <= ?10`, l.alias,
		l.table, l.where), append(l.args, at, id, rows), func(r sqldb.Row) error {
		var workspace int64
		err := r.Scan(&workspace)
		l.ranges = append(l.ranges, fmt.Sprintf(`%s.workspace = %d`, l.alias, workspace))
		return err
	})
}

// page returns a table of the row ids of the page.
func (l *list) page() string {
	selects := make([]string, len(l.ranges))
	for i, x := range l.ranges {
		selects[i] = fmt.Sprintf(`SELECT * FROM (SELECT %[1]s.row_id, %[1]s.created_at, %[1]s.id FROM %[2]s %[1]s WHERE
			%[3]s AND %[4]s ORDER BY %[1]s.created_at DESC, %[1]s.id DESC LIMIT ?10) AS newest_rows`, l.alias, l.table, x,
			l.where)
	}
	return ` (SELECT row_id FROM (` + strings.Join(selects, " UNION ALL ") + `) AS merged
		ORDER BY created_at + 0 DESC, id DESC LIMIT ?10) AS page `
}

// requireManager returns Forbidden where the actor manages neither the workspace nor, without one, any.
func requireManager(t *scope.Scope, workspace int64) error {
	var manages bool
	err := t.QueryRow(`SELECT EXISTS (SELECT 1 FROM`+t.MembershipSubquery()+
		`WHERE m.role <> 'member' AND (?2 = 0 OR w.row_id = ?2))`, []any{workspace}, &manages)
	if err == nil && !manages {
		err = loci.NewError(loci.CodeForbidden)
	}
	return err
}

// List returns a page of sessions, newest first, without their snapshots.
func List(h scope.Holder, f Filter, p page.Request) (list page.List[loci.Session], err error) {
	t := scope.Of(h)
	l, err := newList(t, "sessions", "x", `WHERE s.row_id = x.row_id`, f.statusCondition(t.Conn.Dialect), f, p)
	if err != nil || len(l.ranges) == 0 {
		return page.NewList[loci.Session](p), err
	}
	return scope.QueryPage(p, t.Query, `SELECT`+ListColumns+`FROM`+l.page()+`JOIN`+
		sessionsJoinOn(t, "s.row_id = page.row_id")+`WHERE`+sessionReach+
		`ORDER BY s.created_at DESC, s.id DESC`, func(r sqldb.Row) (loci.Session, error) {
		var row Row
		err := r.Scan(row.Dest()...)
		return row.Record(), err
	}, l.args...)
}

// ListCandidates returns a page of candidates, newest first.
func ListCandidates(h scope.Holder, f Filter, p page.Request) (list page.List[loci.Candidate], err error) {
	t := scope.Of(h)
	if f.SessionID != "" {
		if _, err := OpenView(t, f.SessionID); err != nil {
			return list, err
		}
	}
	status := f.statusCondition(t.Conn.Dialect)
	if f.Status == string(loci.CandidatePending) {
		status = `?7 <> '' AND x.status = 'pending'` // the condition of the partial indexes
	}
	l, err := newList(t, "candidates", "c", `WHERE s.row_id = c.session AND s.workspace = c.workspace`, status, f, p)
	if err != nil || len(l.ranges) == 0 {
		return page.NewList[loci.Candidate](p), err
	}
	list, err = scope.QueryPage(p, t.Query, `SELECT`+CandidateColumns+`FROM`+l.page()+
		`JOIN candidates c ON c.row_id = page.row_id JOIN`+sessionsJoinOn(t, "s.row_id = c.session")+`WHERE`+sessionReach+
		`ORDER BY c.created_at DESC, c.id DESC`, ScanCandidate, l.args...)
	if err == nil {
		err = complete(t, list.Items)
	}
	bounded := page.NewList[loci.Candidate](p)
	for _, c := range list.Items {
		if !bounded.Add(c) { // with its turns
			return bounded, err
		}
	}
	bounded.HasMore = list.HasMore
	return bounded, err
}
