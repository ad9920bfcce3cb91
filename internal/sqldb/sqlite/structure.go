package sqlite

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/sqldb"
)

// Patterns of the lines of SQLite's check. They capture the name of an index, the root page of a tree, or a table
// (https://sqlite.org/pragma.html#pragma_integrity_check).
var (
	indexPattern       = regexp.MustCompile(`(?:missing from|differ from|in|of) index (\S+)$`)
	treePattern        = regexp.MustCompile(`^(?:On tree page|Tree) (\d+)`)
	unusedPagesPattern = regexp.MustCompile(`^Page \d+(?: is|:) never used`)
	columnPattern      = regexp.MustCompile(`(?:value in|value in column|missing in) (\w+)\.\w+$`)
)

// CheckStructure runs SQLite's integrity check, which reads the whole file. If damage ends it early, each table is
// checked on its own.
func (d *database) CheckStructure(ctx context.Context) ([]sqldb.StructureDamage, error) {
	c, err := d.connect(d.dsn, `PRAGMA query_only = ON`)
	if err != nil {
		return nil, err
	}
	defer c.close()
	k := structureScan{c: c, roots: map[int64]string{}, indexes: map[string]string{},
		position: map[sqldb.DamageKey]int{}}
	var tables []string
	err = c.queryContext(ctx, `SELECT name, type, tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0`, nil,
		func(r sqldb.Row) error {
			var name, kind, table string
			var root int64
			err := r.Scan(&name, &kind, &table, &root)
			if k.roots[root] = name; kind == "index" {
				k.indexes[name] = table
			} else {
				tables = append(tables, name)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	ended, err := k.run(ctx, `PRAGMA integrity_check(100000)`) // without a number it ends after 100 lines
	if ended == "" || err != nil {
		return k.list, err
	}
	for _, table := range tables {
		if ended, err = k.run(ctx, fmt.Sprintf(`PRAGMA integrity_check(%s)`, quoteIdentifier(table))); err != nil {
			return nil, err
		}
		if ended != "" {
			k.report(table, "SQLite's check of it ended early: "+ended)
		}
	}
	return k.list, nil
}

// A structureScan collects the lines of SQLite's check by table and index.
type structureScan struct {
	c        *conn
	roots    map[int64]string  // names of tables and indexes by root page
	indexes  map[string]string // their tables
	list     []sqldb.StructureDamage
	position map[sqldb.DamageKey]int // in list
}

// run runs one check of SQLite, and returns the reason if that ended early.
func (k *structureScan) run(ctx context.Context, q string) (ended string, err error) {
	err = k.c.queryContext(ctx, q, nil, func(r sqldb.Row) error {
		var text string
		if err := r.Scan(&text); err != nil || text == "ok" {
			return err
		}
		for line := range strings.Lines(text) { // a row may have several lines
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "*** in database") {
				k.report(objectIn(line, k.roots), line)
			}
		}
		return nil
	})
	if ended = sqldb.UnreadableReason(err); ended != "" {
		err = nil
	}
	return ended, err
}

func (k *structureScan) report(name, line string) {
	found := sqldb.StructureDamage{Name: name, IsIndex: k.indexes[name] != "", Table: k.indexes[name], Detail: line,
		IsUnused: name == "" && unusedPagesPattern.MatchString(line)}
	n, known := k.position[found.Key()]
	if !known {
		k.position[found.Key()] = len(k.list)
		k.list = append(k.list, found)
	} else if f := &k.list[n]; f.Detail != line && !strings.HasSuffix(f.Detail, ", and more") {
		f.Detail += ", and more"
	}
}

func quoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// objectIn returns the table or index that a line of SQLite's check names.
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

// tempIndexName is the name of a new index before it replaces the damaged one.
const tempIndexName = "loci_new_index"

// RebuildIndexes rebuilds indexes from their tables, and with space also frees unused pages. An error of one index
// does not stop the others.
func (d *database) RebuildIndexes(ctx context.Context, names []string,
	space bool) (failed map[string]error, err error) {
	c, err := d.connect(d.dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	failed = map[string]error{}
	for _, name := range names {
		err := sqldb.RetryWhileBusy(func() error {
			return d.mapError(c.execContext(ctx, `REINDEX `+quoteIdentifier(name)))
		})
		if sqldb.UnreadableReason(err) != "" { // REINDEX reads the old index to free its pages
			err = sqldb.RetryWhileBusy(func() error { return d.mapError(c.rebuildIndex(ctx, name)) })
			space = true // the pages of the damaged index are orphaned
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed[name] = err
		}
	}
	if space { // without disk space for a copy they stay, and the next check reports them again
		_ = sqldb.RetryWhileBusy(func() error { return d.mapError(c.execContext(ctx, `VACUUM`)) })
	}
	return failed, ctx.Err()
}

// rebuildIndex creates the index on new pages, and replaces the root page in the schema. It never reads the pages of
// the damaged index.
func (c *conn) rebuildIndex(ctx context.Context, name string) error {
	create, err := c.indexStatement(ctx, name)
	if err != nil {
		return err
	}
	list := []string{`PRAGMA writable_schema = ON`, `BEGIN IMMEDIATE`, create,
		`UPDATE sqlite_schema SET rootpage = (SELECT n.rootpage FROM sqlite_schema n WHERE n.name = '` + tempIndexName +
			`') WHERE type = 'index' AND name = ` + quoteLiteral(name),
		`DELETE FROM sqlite_schema WHERE type = 'index' AND name = '` + tempIndexName + `'`,
	}
	for _, q := range list {
		if err == nil {
			err = c.execContext(ctx, q)
		}
	}
	var version int64
	if err == nil {
		err = c.QueryRow(`PRAGMA schema_version`, nil, []any{&version})
	}
	if err == nil { // other connections then reload the schema
		err = c.execContext(ctx, fmt.Sprintf(`PRAGMA schema_version = %d`, version+1))
	}
	if err == nil {
		err = c.execContext(ctx, `COMMIT`)
	}
	if err != nil {
		_ = c.execContext(context.WithoutCancel(ctx), `ROLLBACK`) // maybe without a transaction
	}
	return errors.Join(err, c.execContext(context.WithoutCancel(ctx), `PRAGMA writable_schema = RESET`))
}

// indexStatement returns the statement that creates a copy of an index.
func (c *conn) indexStatement(ctx context.Context, name string) (string, error) {
	var table string
	var text *string // NULL for the index of a UNIQUE column
	if err := c.QueryRow(`SELECT tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND name = ?1`, []any{name},
		[]any{&table, &text}); err != nil {
		return "", err
	}
	if text != nil {
		head, rest, found := strings.Cut(*text, name)
		if !found {
			return "", fmt.Errorf("the statement of index %s does not name it", name)
		}
		return strings.TrimSuffix(head, `"`) + tempIndexName + strings.TrimPrefix(rest, `"`), nil
	}
	var columns []string
	err := c.queryContext(ctx, `SELECT name FROM pragma_index_info(?1) ORDER BY seqno`, []any{name}, func(r sqldb.Row) error {
		var column string
		err := r.Scan(&column)
		columns = append(columns, quoteIdentifier(column))
		return err
	})
	return `CREATE UNIQUE INDEX ` + tempIndexName + ` ON ` + quoteIdentifier(table) + ` (` +
		strings.Join(columns, ", ") + `)`, err
}

func quoteLiteral(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }
