package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/sqldb"
)

// An indexEntry is an entry of an index beside the row to which it leads.
type indexEntry struct {
	Index   string   `json:"index"`
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
	Key     []any    `json:"key"`     // of the row
	InIndex []any    `json:"inIndex"` // values of the columns
	InTable []any    `json:"inTable"` // null if there is no such row
}

// maxEvidence is the most entries of an index that KeepEvidence writes.
const maxEvidence = 10_000

// KeepEvidence writes the entries of indexes that differ from their rows to a new file beside the database, as lines of
// JSON. Where neither the index nor the row is proved right, a person can choose.
func (d *database) KeepEvidence(ctx context.Context, indexes []string) (path string, err error) {
	c, err := d.connect(d.dsn, `PRAGMA query_only = ON`)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	name := "loci.evidence-" + time.Now().UTC().Format("20060102T150405.000000Z") + ".jsonl"
	path = filepath.Join(filepath.Dir(d.path), name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	out := json.NewEncoder(f)
	for _, index := range indexes {
		if err == nil {
			err = c.compareEntries(ctx, index, out.Encode)
		}
		if reason := sqldb.UnreadableReason(err); reason != "" {
			err = out.Encode(map[string]string{"index": index, "unreadable": reason})
		}
	}
	return path, errors.Join(err, f.Sync(), f.Close())
}

// compareEntries calls keep with each entry of an index that differs from its row.
func (c *conn) compareEntries(ctx context.Context, index string, keep func(any) error) error {
	e := indexEntry{Index: index}
	var definition string
	if err := c.QueryRow(`SELECT tbl_name, COALESCE(sql, '') FROM sqlite_schema WHERE type = 'index' AND name = ?1`,
		[]any{index}, []any{&e.Table, &definition}); err != nil {
		return err
	}
	columns, err := c.names(ctx, `SELECT name FROM pragma_index_info(?1) ORDER BY seqno`, index)
	if err != nil {
		return err
	}
	key, err := c.names(ctx, `SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk`, e.Table)
	if err != nil {
		return err
	}
	condition := ""
	if _, where, partial := strings.Cut(definition, "WHERE "); partial {
		condition = " WHERE " + where
	}
	all, table := append(slices.Clone(key), columns...), quoteIdentifier(e.Table)
	q := "SELECT i." + strings.Join(all, ", i.") + ", r." + key[0] + " IS NOT NULL, r." +
		strings.Join(columns, ", r.") + " FROM (SELECT " + strings.Join(all, ", ") + " FROM " + table +
		" INDEXED BY " + quoteIdentifier(index) +
		condition + ") AS i LEFT JOIN " + table + " AS r NOT INDEXED ON " + pairs(key, "=", " AND ") +
		" WHERE " + pairs(columns, "IS NOT", " OR ") + fmt.Sprintf(" LIMIT %d", maxEvidence)
	return c.queryContext(ctx, q, nil, func(r sqldb.Row) error {
		values, dest := make([]any, len(all)+1+len(columns)), []any{}
		for i := range values {
			dest = append(dest, &values[i])
		}
		if err := r.Scan(dest...); err != nil {
			return err
		}
		e.Columns, e.Key, e.InIndex, e.InTable = columns, values[:len(key)], values[len(key):len(all)], nil
		if values[len(all)] == int64(1) {
			e.InTable = values[len(all)+1:]
		}
		return keep(e)
	})
}

// pairs joins comparisons of the columns of i and r.
func pairs(columns []string, operator, separator string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = "i." + c + " " + operator + " r." + c
	}
	return strings.Join(list, separator)
}

// names returns the only column of a query.
func (c *conn) names(ctx context.Context, q, of string) (list []string, err error) {
	err = c.queryContext(ctx, q, []any{of}, func(r sqldb.Row) error {
		list = append(list, "")
		return r.Scan(&list[len(list)-1])
	})
	return list, err
}
