package store

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A structured database can look at its own file.
type structured interface {
	// structure returns what is wrong with tables and indexes.
	structure(ctx context.Context) ([]structureFlaw, error)
	// reindex makes indexes of the database anew from their tables, and returns what kept
	// it from doing so, by index. With space it gives back pages that nothing uses.
	reindex(ctx context.Context, names []string, space bool) (failed map[string]error, err error)
}

// A structureFlaw is what is wrong with one table or index.
type structureFlaw struct {
	name  string // "" where it is neither
	index bool   // which is made from a table
	what  string
}

// repairable reports whether nothing but what is made from tables is damaged.
func (f structureFlaw) repairable() bool {
	return f.index || f.name == "" && unusedPages.MatchString(f.what)
}

// inspectStructure begins with the database's own check: what it finds explains what
// is found after it. A repair makes damaged indexes anew.
func (s *Store) inspectStructure(ctx context.Context, sum *Inspected, o Inspection) error {
	db, ok := s.db.(structured)
	if !ok {
		return nil // PostgreSQL: pg_amcheck is for its operator
	}
	list, err := db.structure(ctx)
	if err != nil {
		return s.beyond(err, sum, "the structure of the database cannot be looked at")
	}
	left, failed := map[string]bool{}, map[string]error{}
	if o.Repair && len(list) > 0 {
		var names []string
		space := false
		for _, f := range list {
			if f.index {
				names = append(names, f.name)
			}
			space = space || !f.index && f.repairable()
		}
		if failed, err = db.reindex(ctx, names, space); err != nil {
			return err
		}
		after, err := db.structure(ctx)
		if err != nil {
			return s.beyond(err, sum, "the structure of the database cannot be looked at")
		}
		for _, f := range after {
			left[f.name] = true
		}
	}
	for _, f := range list {
		told := Flaw{Kind: FlawStructure, ID: f.name, What: f.what}
		sum.Found++
		switch {
		case !o.Repair && f.index:
			told.Repair = "its table has all that is in it: --repair makes it anew"
		case !o.Repair:
		case left[f.name] && failed[f.name] != nil:
			told.Repair = "could not be made anew from its table: " + rootCause(failed[f.name]).Error()
		case left[f.name] && f.repairable():
			told.Repair = "could not be repaired"
		case left[f.name]:
			told.Repair = fromBackup
		case f.index:
			told.Repair = "made anew from its table"
		default:
			told.Repair = "gone with the indexes that were made anew"
		}
		if o.Repair && !left[f.name] {
			told.Repaired = true
			sum.Repaired++
		}
		sum.Flaws = append(sum.Flaws, told)
	}
	return nil
}

// Names in a finding of SQLite's check: an index, the page at which a tree begins, or a column
// (https://sqlite.org/pragma.html#pragma_integrity_check).
var (
	namedIndex  = regexp.MustCompile(`(?:missing from|in|entries in) index (\S+)$`)
	namedTree   = regexp.MustCompile(`^(?:On tree page|Tree) (\d+)`)
	unusedPages = regexp.MustCompile(`^Page \d+(?: is|:) never used`)
	namedColumn = regexp.MustCompile(`(?:value in|value in column|missing in) (\w+)\.\w+$`)
)

// structure runs SQLite's own check, which reads all of the file. Where damage ends it
// early, each table is checked by itself.
func (d *sqliteFile) structure(ctx context.Context) ([]structureFlaw, error) {
	c, err := d.connect(`PRAGMA query_only = ON`)
	if err != nil {
		return nil, err
	}
	defer c.close()
	k := structureCheck{c: c, roots: map[int64]string{}, indexes: map[string]bool{}, at: map[string]int{}}
	var tables []string
	err = c.walk(ctx, `SELECT name, type, rootpage FROM sqlite_schema WHERE rootpage > 0`, nil, func(r row) error {
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
	ended, err := k.check(ctx, `PRAGMA integrity_check`)
	if ended == "" || err != nil {
		return k.flaws, err
	}
	for _, table := range tables {
		if ended, err = k.check(ctx, fmt.Sprintf(`PRAGMA integrity_check(%s)`, quoted(table))); err != nil {
			return nil, err
		}
		if ended != "" {
			k.tell(table, "SQLite's check of it ended early: "+ended)
		}
	}
	return k.flaws, nil
}

// A structureCheck gathers what SQLite finds, by tables and indexes.
type structureCheck struct {
	c       *sqliteConn
	roots   map[int64]string // tables and indexes by the pages at which they begin
	indexes map[string]bool
	flaws   []structureFlaw
	at      map[string]int // of each name in flaws
}

// check runs one of SQLite's checks, and returns what ended it early.
func (k *structureCheck) check(ctx context.Context, q string) (ended string, err error) {
	err = k.c.walk(ctx, q, nil, func(r row) error {
		var text string
		if err := r.Scan(&text); err != nil || text == "ok" {
			return err
		}
		for line := range strings.Lines(text) { // some rows are of several
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "*** in database") {
				k.tell(namedIn(line, k.roots), line)
			}
		}
		return nil
	})
	if ended = cannotRead(err); ended != "" {
		err = nil
	}
	return ended, err
}

func (k *structureCheck) tell(name, line string) {
	n, known := k.at[name]
	if !known {
		k.at[name] = len(k.flaws)
		k.flaws = append(k.flaws, structureFlaw{name: name, index: k.indexes[name], what: line})
	} else if f := &k.flaws[n]; f.what != line && !strings.HasSuffix(f.what, ", and more") {
		f.what += ", and more"
	}
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// namedIn returns the table or index that a line of SQLite's check is about.
func namedIn(line string, roots map[int64]string) string {
	if m := namedIndex.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	if m := namedTree.FindStringSubmatch(line); m != nil {
		root, _ := strconv.ParseInt(m[1], 10, 64)
		return roots[root]
	}
	if m := namedColumn.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}
