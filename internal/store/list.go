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

// A head is the place of a memory in a list.
type head struct {
	rid int64
	at  loci.Time
	id  string
}

// Memories returns a page of memories, newest first. It merges the heads of
// index ranges, one for each place and status, so that its cost follows the
// page and not the store. Texts are read only of what the page has room for.
func (t *Tx) Memories(f Filter, p Page) (list List[loci.Memory], err error) {
	r, err := t.reach(f)
	if err != nil {
		return list, err
	}
	column, places := "workspace", r.workspaces
	if r.atlas != 0 {
		column, places = "atlas", []int64{r.atlas}
	}
	var heads []head
	statuses := f.statuses()
	for some := range slices.Chunk(places, max(1, headsAtOnce/len(statuses))) {
		if err := t.heads(&heads, f, p, column, some, statuses); err != nil {
			return list, err
		}
	}
	if len(places) > headsAtOnce/len(statuses) {
		slices.SortFunc(heads, newestFirst)
	}
	list = newList[loci.Memory](p)
	list.More = len(heads) > p.Limit
	for some := range slices.Chunk(heads[:min(len(heads), p.Limit)], readAtOnce) {
		if err := t.readHeads(&list, some); err == errEnough {
			break
		} else if err != nil {
			return list, err
		}
	}
	if len(list.Items) == 0 && list.More { // all of them were deleted meanwhile
		last := heads[p.Limit-1]
		p.After = Mark{At: last.at, ID: last.id}
		return t.Memories(f, p)
	}
	return list, nil
}

func newestFirst(a, b head) int {
	return cmp.Or(cmp.Compare(b.at, a.at), strings.Compare(b.id, a.id))
}

// readHeads reads memories and puts them on the page, in the order of their heads.
func (t *Tx) readHeads(list *List[loci.Memory], heads []head) error {
	rids := make([]int64, len(heads))
	for i, h := range heads {
		rids[i] = h.rid
	}
	var rid int64
	scan := t.memoryScanner(&rid)
	memories := make([]loci.Memory, len(heads))
	q := `SELECT` + memoryColumns + `, e.rid FROM ` + fmt.Sprintf(t.s.db.dialect().anyOf, 2, "memories e", "e.rid") +
		t.mine("e.workspace") + `JOIN atlases a ON a.rid = e.atlas`
	err := t.few(q, []any{integers(rids)}, func(r row) error {
		m, err := scan(r)
		memories[slices.Index(rids, rid)] = m
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range memories {
		if m.ID == "" {
			continue // it was deleted meanwhile
		}
		if err := list.add(m); err != nil {
			return err
		}
	}
	return nil
}

// heads adds the first memories of some places, which are within the actor's reach.
func (t *Tx) heads(list *[]head, f Filter, p Page, column string, places []int64, statuses []int) error {
	at, id, limit := p.from()
	args := []any{at, id, limit}
	arg := func(v any) int {
		args = append(args, v)
		return len(args)
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
	var selects []string
	for _, place := range places {
		n := arg(place)
		for _, s := range statuses {
			selects = append(selects, fmt.Sprintf(`SELECT * FROM (SELECT h.rid, h.created_at, h.id FROM memories h WHERE h.%s = ?%d AND h.status = %d
				AND (h.created_at, h.id) < (?1, ?2)%s ORDER BY h.created_at DESC, h.id DESC LIMIT ?3) AS head`, column, n, s, also.String()))
		}
	}
	// The sum makes SQLite sort the heads together: it would merge them two at a time
	// where all columns that it sorts by are shown.
	q := `SELECT rid, created_at + 0, id FROM (` + strings.Join(selects, " UNION ALL ") + `) AS heads ORDER BY created_at DESC, id DESC LIMIT ?3`
	return t.c.each(q, args, func(r row) error {
		var h head
		err := r.Scan(&h.rid, &h.at, &h.id)
		*list = append(*list, h)
		return err
	})
}
