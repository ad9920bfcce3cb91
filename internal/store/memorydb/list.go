package memorydb

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// statuses returns the statuses in the filter, as indexes in loci.MemoryStatuses.
func statuses(f loci.MemoryFilter) []int {
	out := []int{0}
	for i, s := range loci.MemoryStatuses[1:] {
		if slices.Contains(f.Include, loci.Include(s)) {
			out = append(out, i+1)
		}
	}
	return out
}

// maxMergedRanges is the maximum of index ranges that one statement merges: SQLite limits a compound SELECT to 500
// terms.
const maxMergedRanges = 100

// A pageEntry is the sort key and the row id of a memory.
type pageEntry struct {
	rowID int64
	at    loci.Time
	id    loci.ID
}

// A listing selects and sorts the memories of a list. Each order has an index for each container.
type listing struct {
	loci.MemoryFilter
	since, until loci.Time
	sortedBy     string // created_at or updated_at
	verified     bool   // only reviewed memories
}

// List returns a page of memories, newest first. It merges the beginnings of index ranges, one for each container
// and status. So the cost depends on the page size, not on the size of the store. Contents are read only for the
// memories on the page.
func List(h scope.Holder, f loci.MemoryFilter, p page.Request) (page.List[loci.Memory], error) {
	return memories(scope.Of(h), listing{MemoryFilter: f, sortedBy: "created_at"}, p)
}

// ListChanged returns a page of memories, the last changed first.
func ListChanged(h scope.Holder, f loci.MemoryFilter, p page.Request) (page.List[loci.Memory], error) {
	return memories(scope.Of(h), listing{MemoryFilter: f, sortedBy: "updated_at"}, p)
}

// ListVerified returns a page of reviewed memories, newest first.
func ListVerified(h scope.Holder, f loci.MemoryFilter, p page.Request) (page.List[loci.Memory], error) {
	return memories(scope.Of(h), listing{MemoryFilter: f, sortedBy: "created_at", verified: true}, p)
}

func memories(t *scope.Scope, f listing, p page.Request) (list page.List[loci.Memory], err error) {
	if f.since, f.until, err = f.Period(t.Conn.Now); err != nil {
		return list, err
	}
	ranges, err := memoryRanges(t, f, p)
	if err != nil {
		return list, err
	}
	var entries []pageEntry
	for chunk := range slices.Chunk(ranges, maxMergedRanges) {
		if err := mergedPages(t, &entries, newPagePredicate(t, f, p, 0), p, chunk); err != nil {
			return list, err
		}
	}
	if len(ranges) > maxMergedRanges {
		slices.SortFunc(entries, func(a, b pageEntry) int {
			return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.id, a.id))
		})
	}
	list = page.NewList[loci.Memory](p)
	list.HasMore = len(entries) > p.Limit
	for chunk := range slices.Chunk(entries[:min(len(entries), p.Limit)], page.MemoriesPerQuery) {
		if err := loadPageEntries(t, &list, chunk); err == sqldb.ErrStop {
			break
		} else if err != nil {
			return list, err
		}
	}
	if len(list.Items) == 0 && list.HasMore { // concurrent calls deleted all of them
		last := entries[p.Limit-1]
		p.After = page.Key{At: last.at, ID: last.id}
		return memories(t, f, p)
	}
	return list, nil
}

// maxCount is the highest number of rows that Count reads.
const maxCount = 100_000

// Count returns the number of active memories in the place and the times of a filter. It subtracts those that are not
// active from the counters of atlases; within times it counts up to maxCount.
func Count(h scope.Holder, f loci.MemoryFilter) (n int, err error) {
	t := scope.Of(h)
	since, until, err := f.Period(t.Conn.Now)
	if err != nil {
		return 0, err
	}
	places, err := t.Resolve(f.WorkspaceID, f.AtlasID)
	if err != nil {
		return 0, err
	}
	where, which := fmt.Sprintf(t.Conn.Dialect.InList, "a.workspace", 1), any(sqldb.EncodeInts(places.Workspaces))
	if places.Atlas != 0 {
		where, which = `a.row_id = ?1`, places.Atlas
	}
	if since == 0 && until == 0 { // the counters of the atlases have all memories
		err = t.Conn.QueryRow(fmt.Sprintf(`SELECT
			(SELECT CAST(COALESCE(SUM(`+scope.MemoryCount+`), 0) AS BIGINT) FROM atlases a WHERE %[1]s)
			- (SELECT count(*) FROM (SELECT h.id FROM atlases a JOIN memories h
				ON h.atlas = a.row_id AND h.status IN (1, 2) WHERE %[1]s LIMIT %[2]d) AS others)`, where, maxCount),
			[]any{which}, []any{&n})
		return max(0, n), err
	}
	err = t.Conn.QueryRow(fmt.Sprintf(`SELECT count(*) FROM (SELECT h.id FROM atlases a JOIN memories h
		ON h.atlas = a.row_id AND h.status = 0 AND h.created_at >= ?2 AND h.created_at < ?3
		WHERE %s LIMIT %d) AS counted`, where, maxCount),
		[]any{which, since, cmp.Or(until, math.MaxInt64)}, []any{&n})
	return n, err
}

// loadPageEntries reads the memories of entries and adds them to the page in that order.
func loadPageEntries(t *scope.Scope, list *page.List[loci.Memory], entries []pageEntry) error {
	rowIDs := make([]int64, len(entries))
	for i, h := range entries {
		rowIDs[i] = h.rowID
	}
	memories := make([]loci.Memory, len(entries))
	err := loadMemories(t, rowIDs, func(rowID, _ int64, m loci.Memory) { memories[slices.Index(rowIDs, rowID)] = m })
	if err != nil {
		return err
	}
	for _, m := range memories {
		if m.ID == "" {
			continue // a concurrent call deleted it
		}
		if err := scope.AddTo(list, m); err != nil {
			return err
		}
	}
	return nil
}

// A memoryRange is a range of an index: the memories of one workspace or atlas in one status, newest first.
type memoryRange struct {
	column    string // workspace or atlas
	container int64
	status    int
}

// memoryRanges returns the ranges in scope that can have memories on the page.
func memoryRanges(t *scope.Scope, f listing, p page.Request) (list []memoryRange, err error) {
	if f.WorkspaceID == "" && f.AtlasID == "" {
		for _, s := range statuses(f.MemoryFilter) {
			if err := newestRanges(t, &list, newPagePredicate(t, f, p, 1), p, s); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	r, err := t.Resolve(f.WorkspaceID, f.AtlasID)
	if err != nil {
		return nil, err
	}
	x := memoryRange{column: "workspace", container: r.Workspaces[0]}
	if r.Atlas != 0 {
		x.column, x.container = "atlas", r.Atlas
	}
	for _, x.status = range statuses(f.MemoryFilter) {
		list = append(list, x)
	}
	return list, nil
}

// newestRanges adds the ranges of a status that can have memories on the page. A page of n rows holds memories of at
// most n workspaces: the n whose newest matching memory is newest. One lookup for each workspace in scope finds them,
// which costs less than a merge of all ranges.
func newestRanges(t *scope.Scope, list *[]memoryRange, c *pagePredicate, p page.Request, status int) error {
	_, _, rows := p.Seek()
	limit := c.bind(rows)
	// The LIMIT keeps SQLite from inlining the subquery, which would look up each workspace three times.
	return t.QueryFew(fmt.Sprintf(
		`SELECT workspace FROM (SELECT workspace, newest, rank() OVER (ORDER BY newest DESC) AS newest_rank
			FROM (SELECT w.row_id AS workspace,
		(SELECT h.%s FROM memories h WHERE h.workspace = w.row_id AND h.status = %d AND %s`+liveAtlas+`
			ORDER BY h.%[1]s DESC, h.id DESC LIMIT 1) AS newest
		FROM`, c.sortedBy, status, c.sql)+t.MembershipSubquery()+fmt.Sprintf(
		`LIMIT 1000000000) AS newest_of WHERE newest IS NOT NULL) AS ranked WHERE newest_rank <= ?%d`, limit), c.args,
		func(r sqldb.Row) error {
			x := memoryRange{column: "workspace", status: status}
			err := r.Scan(&x.container)
			*list = append(*list, x)
			return err
		})
}

// liveAtlas is a condition: the atlas of a memory h is not deleted. It reads the few deleted atlases once.
const liveAtlas = ` AND h.atlas NOT IN (SELECT d.row_id FROM atlases d WHERE d.workspace IS NULL)`

// A pagePredicate is the SQL condition for a memory h on a page, with its arguments.
type pagePredicate struct {
	sql       string
	args      []any
	argOffset int // the number of the statement's arguments before args
	sortedBy  string
}

func (c *pagePredicate) bind(v any) int {
	c.args = append(c.args, v)
	return c.argOffset + len(c.args)
}

func newPagePredicate(t *scope.Scope, f listing, p page.Request, before int) *pagePredicate {
	at, id, _ := p.Seek()
	c := &pagePredicate{argOffset: before, sortedBy: f.sortedBy}
	if f.sortedBy == "created_at" && f.until != 0 && f.until < at {
		at, id = f.until, ""
	}
	c.sql = fmt.Sprintf("(h.%s, h.id) < (?%d, ?%d)", f.sortedBy, c.bind(at), c.bind(id))
	if f.sortedBy != "created_at" && f.until != 0 {
		c.sql += fmt.Sprintf(" AND h.created_at < ?%d", c.bind(f.until))
	}
	if f.since != 0 {
		c.sql += fmt.Sprintf(" AND h.created_at >= ?%d", c.bind(f.since))
	}
	d := t.Conn.Dialect
	if len(f.Type) > 0 {
		types := make([]int64, len(f.Type))
		for i, k := range f.Type {
			types[i] = int64(slices.Index(loci.MemoryTypes, k))
		}
		c.sql += fmt.Sprintf(" AND "+d.InList, "h.type", c.bind(sqldb.EncodeInts(types)))
	}
	if f.verified {
		c.sql += " AND h.verified_at > 0"
	}
	if len(f.Tags) > 0 {
		c.sql += fmt.Sprintf(" AND "+d.ContainsAll, "h.tags", c.bind(sqldb.EncodeStrings(f.Tags.Unique())))
	}
	return c
}

// mergedPages adds the first memories of the merged ranges.
func mergedPages(t *scope.Scope, list *[]pageEntry, c *pagePredicate, p page.Request, ranges []memoryRange) error {
	_, _, rows := p.Seek()
	limit := c.bind(rows)
	selects := make([]string, len(ranges))
	for i, x := range ranges {
		condition := c.sql
		if x.column == "workspace" {
			condition += liveAtlas
		}
		selects[i] = fmt.Sprintf(
			`SELECT * FROM (SELECT h.row_id, h.%[1]s AS at, h.id FROM memories h WHERE h.%s = ?%d AND h.status = %d
			AND %s ORDER BY h.%[1]s DESC, h.id DESC LIMIT ?%[6]d) AS head`, c.sortedBy, x.column, c.bind(x.container),
			x.status, condition, limit)
	}
	// The sum makes SQLite sort all rows together. It would merge the ranges pairwise if the columns of the sort key
	// were selected as they are.
	q := `SELECT row_id, at + 0, id FROM (` + strings.Join(selects, " UNION ALL ") +
		`) AS entries ORDER BY at DESC, id DESC LIMIT ?` + strconv.Itoa(limit)
	return t.Conn.Query(q, c.args, func(r sqldb.Row) error {
		var h pageEntry
		err := r.Scan(&h.rowID, &h.at, &h.id)
		*list = append(*list, h)
		return err
	})
}
