package integrity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A logFaultDB fails the reads of one row of the log with an error.
type logFaultDB struct {
	sqldb.DB
	seq string
	err error
}

func (d logFaultDB) Read(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return d.DB.Read(ctx, user, func(c sqldb.Conn) error { return f(logFaultConn{c, d}) })
}

type logFaultConn struct {
	sqldb.Conn
	fault logFaultDB
}

func (c logFaultConn) Query(q string, args []any, f func(sqldb.Row) error) error {
	if strings.Contains(q, "document, group_id") && strings.Contains(fmt.Sprint(args[1]), c.fault.seq) {
		_, _ = c.Exec(`SELECT 1/0`, nil) // aborts the transaction of PostgreSQL
		return c.fault.err
	}
	return c.Conn.Query(q, args, f)
}

func TestCheckReportsOnlyTheUnreadableRowOfTheLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		for i := range 20 {
			add(t, s, ann, "", fmt.Sprintf("Number %d is as good as any", i))
		}
		fault := logFaultDB{DB: s.DB().DB, seq: d.Query(t, `SELECT max(seq) - 10 FROM index_log`)[0]}
		fault.err = &loci.Error{Code: loci.CodeUnavailable}
		s.DB().DB = fault
		sum, err := integrity.New(s).Check(ctx, integrity.Options{Repair: true})
		if !errors.Is(err, fault.err) || sum.Found != 0 {
			t.Errorf("a busy database is reported as %v, %+v", err, sum)
		}
		fault.err = &pgconn.PgError{Code: "XX001"}
		s.DB().DB = fault
		if sum := checkIntegrity(t, s, false); sum.Found != 1 {
			t.Errorf("found %v", sum.Inconsistencies)
		}
	})
}
