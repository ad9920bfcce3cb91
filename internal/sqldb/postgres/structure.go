package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/sqldb"
)

// errUndone ends a transaction that is to leave nothing.
var errUndone = errors.New("sqldb: the transaction is undone")

// CheckStructure compares the indexes of Loci with their tables, by the extension amcheck. A superuser has that for the
// length of the transaction where it is not installed. If the role may not use it, the error is sqldb.NotChecked.
func (d *database) CheckStructure(ctx context.Context) (list []sqldb.StructureDamage, err error) {
	err = d.Write(ctx, "", func(c sqldb.Conn) error {
		list = nil
		var check string // the name of the function
		err := execAll(c, append(slices.Clone(sqldb.NoTimeouts), `CREATE EXTENSION IF NOT EXISTS amcheck`)...)
		if err == nil {
			err = c.QueryRow(`SELECT format('%I.bt_index_check', n.nspname) FROM pg_extension e
				JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'amcheck'`, nil, []any{&check})
		}
		var indexes []sqldb.StructureDamage
		if err == nil {
			indexes, err = listIndexes(c)
		}
		for _, index := range indexes {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				index.Detail, err = checkIndex(c, check, index.Name)
			}
			if index.Detail != "" {
				list = append(list, index)
			}
		}
		if err == nil {
			err = errUndone
		}
		return notChecked(err)
	})
	if errors.Is(err, errUndone) {
		err = nil
	}
	return list, err
}

// execAll executes statements until one fails.
func execAll(c sqldb.Conn, statements ...string) error {
	for _, q := range statements {
		if _, err := c.Exec(q, nil); err != nil {
			return err
		}
	}
	return nil
}

// listIndexes lists the indexes of the tables of Loci.
func listIndexes(c sqldb.Conn) (list []sqldb.StructureDamage, err error) {
	err = c.Query(`SELECT c.relname, t.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
			JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
			JOIN pg_am a ON a.oid = c.relam
		WHERE n.nspname = current_schema() AND a.amname = 'btree' AND i.indisvalid ORDER BY c.relname`, nil,
		func(r sqldb.Row) error {
			x := sqldb.StructureDamage{IsIndex: true}
			err := r.Scan(&x.Name, &x.Table)
			if sqldb.Tables()[x.Table] != nil {
				list = append(list, x)
			}
			return err
		})
	return list, err
}

// checkIndex returns the damage of an index, or "". Later statements of the transaction still work.
func checkIndex(c sqldb.Conn, check, name string) (damage string, err error) {
	isDamage := func(err error) bool { return sqldb.UnreadableReason(err) != "" }
	refusal, err := sqldb.Attempt(c, isDamage, func() error {
		_, err := c.Exec(`SELECT `+check+`(CAST(CAST(?1 AS TEXT) AS regclass), TRUE)`,
			[]any{pgx.Identifier{name}.Sanitize()})
		return err
	})
	return sqldb.UnreadableReason(refusal), err
}

// notChecked returns the error for a role that may not use the extension, or a server that lacks it.
func notChecked(err error) error {
	switch e, _ := errors.AsType[*pgconn.PgError](err); sqlState(err) {
	case "42501", "0A000", "58P01":
		return sqldb.NotChecked("the indexes of PostgreSQL (" + e.Message + "). Install amcheck on its server, and " +
			"let a superuser run in the database: CREATE EXTENSION amcheck; GRANT EXECUTE ON FUNCTION " +
			"bt_index_check(regclass, boolean) TO the role of Loci")
	}
	return err
}

// RebuildIndexes rebuilds indexes from their tables, whose writers wait meanwhile. An error of one index does not stop
// the others.
func (d *database) RebuildIndexes(ctx context.Context, names []string, _ bool) (failed map[string]error, err error) {
	failed = map[string]error{}
	for _, name := range names {
		err := sqldb.RetryWhileBusy(func() error {
			return d.Write(ctx, "", func(c sqldb.Conn) error {
				reindex := `REINDEX INDEX ` + pgx.Identifier{name}.Sanitize()
				return execAll(c, append(slices.Clone(sqldb.NoTimeouts), reindex)...)
			})
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed[name] = err
		}
	}
	return failed, nil
}

// KeepEvidence writes no file: an index that is not rebuilt keeps its values.
func (d *database) KeepEvidence(context.Context, []string) (path string, err error) { return "", nil }
