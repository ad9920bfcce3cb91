package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// tempIndexName is the name of an index while it is made in place of another.
const tempIndexName = "loci_new_index"

// RebuildIndexes creates indexes again from their tables. An error of one index does not
// stop the others.
func (d *sqliteDB) RebuildIndexes(ctx context.Context, names []string, space bool) (failed map[string]error,
	err error) {
	c, err := d.connect()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	failed = map[string]error{}
	for _, name := range names {
		err := RetryWhileBusy(func() error {
			return mapSQLiteError(c.execContext(ctx,
				`REINDEX `+quoteIdentifier(name)))
		})
		if UnreadableReason(err) != "" { // SQLite reads an index to give its pages back
			err = RetryWhileBusy(func() error { return mapSQLiteError(c.rebuildIndex(ctx, name)) })
			space = true // the pages of the damaged index belong to nothing
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed[name] = err
		}
	}
	if space { // where there is no room for a copy of the file they stay, and the check tells of them again
		_ = RetryWhileBusy(func() error { return mapSQLiteError(c.execContext(ctx, `VACUUM`)) })
	}
	return failed, ctx.Err()
}

// rebuildIndex makes an index at another place of the file, and leaves the pages of the
// damaged one, of which nothing is read.
func (c *sqliteConn) rebuildIndex(ctx context.Context, name string) error {
	make, err := c.indexStatement(ctx, name)
	if err != nil {
		return err
	}
	list := []string{`PRAGMA writable_schema = ON`, `BEGIN IMMEDIATE`, make,
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
	if err == nil { // other connections read the schema again
		err = c.execContext(ctx, fmt.Sprintf(`PRAGMA schema_version = %d`, version+1))
	}
	if err == nil {
		err = c.execContext(ctx, `COMMIT`)
	}
	if err != nil {
		_ = c.execContext(context.WithoutCancel(ctx), `ROLLBACK`) // nothing may be under way
	}
	// reads the schema again
	return errors.Join(err, c.execContext(context.WithoutCancel(ctx), `PRAGMA writable_schema = RESET`))
}

// indexStatement returns the statement that makes an index like another.
func (c *sqliteConn) indexStatement(ctx context.Context, name string) (string, error) {
	var table string
	var text *string // NULL of the index of a UNIQUE column
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
	err := c.queryContext(ctx, `SELECT name FROM pragma_index_info(?1) ORDER BY seqno`, []any{name}, func(r Row) error {
		var column string
		err := r.Scan(&column)
		columns = append(columns, quoteIdentifier(column))
		return err
	})
	return `CREATE UNIQUE INDEX ` + tempIndexName + ` ON ` + quoteIdentifier(table) + ` (` +
		strings.Join(columns, ", ") + `)`, err
}

func quoteLiteral(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }
