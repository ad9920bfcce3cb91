package store

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
		err = t.few(`SELECT w.rid FROM`+t.memberships()+`ORDER BY w.rid`, nil, into(&r.workspaces))
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
	ranges, err := t.ranges(f, p)
	if err != nil {
		return list, err
	}
	var heads []head
	for some := range slices.Chunk(ranges, headsAtOnce) {
		if err := t.heads(&heads, f, p, some); err != nil {
			return list, err
		}
	}
	if len(ranges) > headsAtOnce {
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

// A memoryRange is a range of an index that lists merge: the memories of one place in one status, newest first.
type memoryRange struct {
	column string // of the place: workspace or atlas
	place  int64
	status int
}

// ranges returns the ranges that can have memories on a page, which are within the actor's reach.
func (t *Tx) ranges(f Filter, p Page) (list []memoryRange, err error) {
	if f.WorkspaceID == "" && f.AtlasID == "" {
		for _, s := range f.statuses() {
			if err := t.newestRanges(&list, f, p, s); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	r, err := t.reach(f)
	if err != nil {
		return nil, err
	}
	x := memoryRange{column: "workspace", place: r.workspaces[0]}
	if r.atlas != 0 {
		x.column, x.place = "atlas", r.atlas
	}
	for _, x.status = range f.statuses() {
		list = append(list, x)
	}
	return list, nil
}

// newestRanges adds the ranges of a status that have the newest memories in all of the actor's workspaces. A page has no
// memories of more ranges than it has rows: one look at each workspace costs less than to merge them all. The inner limit
// keeps SQLite from looking three times.
func (t *Tx) newestRanges(list *[]memoryRange, f Filter, p Page, status int) error {
	_, _, rows := p.from()
	c := t.headConditions(f, p, 1)
	limit := c.arg(rows)
	return t.few(fmt.Sprintf(`SELECT place FROM (SELECT place, newest, rank() OVER (ORDER BY newest DESC) AS standing FROM (SELECT w.rid AS place,
		(SELECT h.created_at FROM memories h WHERE h.workspace = w.rid AND h.status = %d AND %s ORDER BY h.created_at DESC, h.id DESC LIMIT 1) AS newest
		FROM`, status, c.text)+t.memberships()+fmt.Sprintf(`LIMIT 1000000000) AS places WHERE newest IS NOT NULL) AS ranked WHERE standing <= ?%d`, limit), c.args, func(r row) error {
		x := memoryRange{column: "workspace", status: status}
		err := r.Scan(&x.place)
		*list = append(*list, x)
		return err
	})
}

// headConditions are what a memory h of a page fulfils, with their arguments.
type headConditions struct {
	text   string
	args   []any
	before int // arguments of the statement that stand before these
}

func (c *headConditions) arg(v any) int {
	c.args = append(c.args, v)
	return c.before + len(c.args)
}

func (t *Tx) headConditions(f Filter, p Page, before int) *headConditions {
	at, id, _ := p.from()
	c := &headConditions{before: before}
	c.text = fmt.Sprintf("(h.created_at, h.id) < (?%d, ?%d)", c.arg(at), c.arg(id))
	d := t.s.db.dialect()
	if len(f.Kinds) > 0 {
		kinds := make([]int64, len(f.Kinds))
		for i, k := range f.Kinds {
			kinds[i] = int64(slices.Index(loci.Kinds, k))
		}
		c.text += fmt.Sprintf(" AND "+d.in, "h.kind", c.arg(integers(kinds)))
	}
	if f.Verified {
		c.text += " AND h.verified_at > 0"
	}
	if len(f.Tags) > 0 {
		c.text += fmt.Sprintf(" AND "+d.hasTexts, "h.tags", c.arg(texts(f.Tags)))
	}
	return c
}

// heads adds the first memories of some ranges.
func (t *Tx) heads(list *[]head, f Filter, p Page, ranges []memoryRange) error {
	_, _, rows := p.from()
	c := t.headConditions(f, p, 0)
	limit := c.arg(rows)
	selects := make([]string, len(ranges))
	for i, x := range ranges {
		selects[i] = fmt.Sprintf(`SELECT * FROM (SELECT h.rid, h.created_at, h.id FROM memories h WHERE h.%s = ?%d AND h.status = %d
			AND %s ORDER BY h.created_at DESC, h.id DESC LIMIT ?%d) AS head`, x.column, c.arg(x.place), x.status, c.text, limit)
	}
	// The sum makes SQLite sort the heads together: it would merge them two at a time
	// where all columns that it sorts by are shown.
	q := `SELECT rid, created_at + 0, id FROM (` + strings.Join(selects, " UNION ALL ") + `) AS heads ORDER BY created_at DESC, id DESC LIMIT ?` + strconv.Itoa(limit)
	return t.c.each(q, c.args, func(r row) error {
		var h head
		err := r.Scan(&h.rid, &h.at, &h.id)
		*list = append(*list, h)
		return err
	})
}
