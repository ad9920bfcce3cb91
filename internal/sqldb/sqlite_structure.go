package sqldb

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A StructureError is what is wrong with one table or index.
type StructureError struct {
	Name    string // "" where it is neither
	IsIndex bool   // which is made from a table
	Detail  string
}

// Repairable reports whether nothing but what is made from tables is damaged.
func (f StructureError) Repairable() bool {
	return f.IsIndex || f.Name == "" && unusedPagesPattern.MatchString(f.Detail)
}

// Names in a finding of SQLite's check: an index, the page at which a tree begins, or a column
// (https://sqlite.org/pragma.html#pragma_integrity_check).
var (
	indexPattern       = regexp.MustCompile(`(?:missing from|in|entries in) index (\S+)$`)
	treePattern        = regexp.MustCompile(`^(?:On tree page|Tree) (\d+)`)
	unusedPagesPattern = regexp.MustCompile(`^Page \d+(?: is|:) never used`)
	columnPattern      = regexp.MustCompile(`(?:value in|value in column|missing in) (\w+)\.\w+$`)
)

// CheckStructure runs SQLite's own check, which reads all of the file. Where damage ends it
// early, each table is checked by itself.
func (d *sqliteDB) CheckStructure(ctx context.Context) ([]StructureError, error) {
	c, err := d.connect(`PRAGMA query_only = ON`)
	if err != nil {
		return nil, err
	}
	defer c.close()
	k := structureScan{c: c, roots: map[int64]string{}, indexes: map[string]bool{}, position: map[string]int{}}
	var tables []string
	err = c.queryContext(ctx, `SELECT name, type, rootpage FROM sqlite_schema WHERE rootpage > 0`, nil,
		func(r Row) error {
			var name, kind string
			var root int64
			err := r.Scan(&name, &kind, &root)
			if k.roots[root], k.indexes[name] = name, kind == "index"; kind == "table" {
				tables = append(tables, name)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	ended, err := k.run(ctx, `PRAGMA integrity_check`)
	if ended == "" || err != nil {
		return k.errors, err
	}
	for _, table := range tables {
		if ended, err = k.run(ctx, fmt.Sprintf(`PRAGMA integrity_check(%s)`, quoteIdentifier(table))); err != nil {
			return nil, err
		}
		if ended != "" {
			k.report(table, "SQLite's check of it ended early: "+ended)
		}
	}
	return k.errors, nil
}

// A structureScan gathers what SQLite finds, by tables and indexes.
type structureScan struct {
	c        *sqliteConn
	roots    map[int64]string // tables and indexes by the pages at which they begin
	indexes  map[string]bool
	errors   []StructureError
	position map[string]int // of each name in flaws
}

// run runs one of SQLite's checks, and returns what ended it early.
func (k *structureScan) run(ctx context.Context, q string) (ended string, err error) {
	err = k.c.queryContext(ctx, q, nil, func(r Row) error {
		var text string
		if err := r.Scan(&text); err != nil || text == "ok" {
			return err
		}
		for line := range strings.Lines(text) { // some rows are of several
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "*** in database") {
				k.report(objectIn(line, k.roots), line)
			}
		}
		return nil
	})
	if ended = UnreadableReason(err); ended != "" {
		err = nil
	}
	return ended, err
}

func (k *structureScan) report(name, line string) {
	n, known := k.position[name]
	if !known {
		k.position[name] = len(k.errors)
		k.errors = append(k.errors, StructureError{Name: name, IsIndex: k.indexes[name], Detail: line})
	} else if f := &k.errors[n]; f.Detail != line && !strings.HasSuffix(f.Detail, ", and more") {
		f.Detail += ", and more"
	}
}

func quoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// objectIn returns the table or index that a line of SQLite's check is about.
func objectIn(line string, roots map[int64]string) string {
	if m := indexPattern.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	if m := treePattern.FindStringSubmatch(line); m != nil {
		root, _ := strconv.ParseInt(m[1], 10, 64)
		return roots[root]
	}
	if m := columnPattern.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}
