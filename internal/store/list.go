package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// A Filter narrows a list or a search of memories. Empty fields narrow nothing.
type Filter struct {
	WorkspaceID string
	AtlasID     string
	Kinds       []loci.Kind
	Tags        []string
	Include     []loci.Include
	Verified    bool // only what somebody has reviewed; lists alone
}

// statuses returns the places in loci.Statuses of what the filter shows.
func (f Filter) statuses() []int {
	out := []int{0}
	for i, s := range loci.Statuses[1:] {
		if slices.Contains(f.Include, loci.Include(s)) {
			out = append(out, i+1)
		}
	}
	return out
}

// A reach is what a Filter leaves of the actor's places.
type reach struct {
	workspaces []int64
	atlas      int64 // the only atlas; 0 is all
}

// reach finds the places of a filter; one that is out of reach is NotFound.
func (t *Tx) reach(f Filter) (r reach, err error) {
	var workspace int64
	var id string
	switch {
	case f.AtlasID != "":
		err = t.one(`SELECT a.rid, w.rid, w.id FROM atlases a`+t.mine("a.workspace")+`WHERE a.id = ?2`, []any{f.AtlasID}, &r.atlas, &workspace, &id)
		r.workspaces = []int64{workspace}
		if err == nil && f.WorkspaceID != "" && f.WorkspaceID != id {
			if _, err = t.WorkspaceRecord(f.WorkspaceID); err == nil {
				err = loci.Fail(loci.AtlasWorkspaceMismatch, "The atlas belongs to another workspace: leave workspace_id out, or name the workspace of the atlas.")
			}
		}
	case f.WorkspaceID != "":
		err = t.one(`SELECT w.rid FROM workspaces e`+t.mine("e.rid")+`WHERE e.id = ?2`, []any{f.WorkspaceID}, &workspace)
		r.workspaces = []int64{workspace}
	default:
		err = t.few(`SELECT w.rid FROM workspaces e`+t.mine("e.rid")+`ORDER BY w.rid`, nil, into(&r.workspaces))
	}
	return r, notFound(err)
}

// headsAtOnce bounds the heads that one statement merges: SQLite joins at most
// 500 selects.
const headsAtOnce = 100

// Memories returns a page of memories, newest first. It merges the heads of
// index ranges, one for each place and status, so that its cost follows the
// page and not the store.
func (t *Tx) Memories(f Filter, p Page) ([]loci.Memory, error) {
	r, err := t.reach(f)
	if err != nil {
		return nil, err
	}
	column, places := "workspace", r.workspaces
	if r.atlas != 0 {
		column, places = "atlas", []int64{r.atlas}
	}
	list := []loci.Memory{}
	statuses := f.statuses()
	for some := range slices.Chunk(places, max(1, headsAtOnce/len(statuses))) {
		found, err := t.heads(f, p, column, some, statuses)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	if len(places) > headsAtOnce/len(statuses) {
		slices.SortFunc(list, newestFirst)
		list = list[:min(len(list), p.Limit+1)]
	}
	return list, nil
}

func newestFirst(a, b loci.Memory) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(b.ID, a.ID))
}

func (t *Tx) heads(f Filter, p Page, column string, places []int64, statuses []int) (list []loci.Memory, err error) {
	at, id, limit := p.from()
	args := []any{at, id, limit}
	arg := func(v any) int {
		args = append(args, v)
		return len(args) + 1 // ?1 is the actor
	}
	var also strings.Builder
	if len(f.Kinds) > 0 {
		kinds := make([]int64, len(f.Kinds))
		for i, k := range f.Kinds {
			kinds[i] = int64(slices.Index(loci.Kinds, k))
		}
		fmt.Fprintf(&also, " AND "+t.s.db.dialect().in, "h.kind", arg(integers(kinds)))
	}
	if f.Verified {
		also.WriteString(" AND h.verified_at > 0")
	}
	if len(f.Tags) > 0 {
		fmt.Fprintf(&also, " AND "+t.s.db.dialect().hasTexts, "h.tags", arg(texts(f.Tags)))
	}
	var heads []string
	for _, place := range places {
		n := arg(place)
		for _, s := range statuses {
			heads = append(heads, fmt.Sprintf(`SELECT * FROM (SELECT h.rid, h.created_at, h.id FROM memories h WHERE h.%s = ?%d AND h.status = %d
				AND (h.created_at, h.id) < (?2, ?3)%s ORDER BY h.created_at DESC, h.id DESC LIMIT ?4) AS head`, column, n, s, also.String()))
		}
	}
	q := `SELECT` + memoryColumns + `FROM (SELECT rid FROM (` + strings.Join(heads, " UNION ALL ") + `) AS heads ORDER BY created_at DESC, id DESC LIMIT ?4) AS top
		JOIN memories e ON e.rid = top.rid` + t.mine("e.workspace") + `JOIN atlases a ON a.rid = e.atlas ORDER BY e.created_at DESC, e.id DESC`
	scan := t.memoryScanner()
	err = t.each(q, args, func(r row) error {
		m, err := scan(r)
		list = append(list, m)
		return err
	})
	return list, err
}
