package integrity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A logFault fails the reads of one row of the log with an error.
type logFault struct {
	seq string
	err error
}

type logFaultDB struct {
	sqldb.DB
	fault atomic.Pointer[logFault] // nil means none
}

func (d *logFaultDB) Read(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	fault := d.fault.Load()
	if fault == nil {
		return d.DB.Read(ctx, user, f)
	}
	return d.DB.Read(ctx, user, func(c sqldb.Conn) error { return f(logFaultConn{c, fault}) })
}

type logFaultConn struct {
	sqldb.Conn
	fault *logFault
}

func (c logFaultConn) Query(q string, args []any, f func(sqldb.Row) error) error {
	if strings.Contains(q, "document, group_id") && strings.Contains(fmt.Sprint(args[1]), c.fault.seq) {
		_, _ = c.Exec(`SELECT 1/0`, nil) // aborts the transaction of PostgreSQL
		return c.fault.err
	}
	return c.Conn.Query(q, args, f)
}

func TestCheckReportsAnUnreadableLogAndNoBusyDatabase(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		faulty := &logFaultDB{}
		s := d.Open(t, store.Options{Intercept: storetest.Intercept(faulty, &faulty.DB)})
		ann := user(t, s, "ann")
		for i := range 20 {
			add(t, s, ann, "", fmt.Sprintf("Number %d is as good as any", i))
		}
		seq := d.Query(t, `SELECT max(seq) - 10 FROM index_log`)[0]
		busy := &loci.Error{Code: loci.CodeUnavailable}
		faulty.fault.Store(&logFault{seq, busy})
		sum, err := integrity.New(s).Check(ctx, integrity.Options{Repair: true})
		if !errors.Is(err, busy) || sum.Found != 0 {
			t.Errorf("a busy database is reported as %v, %+v", err, sum)
		}
		faulty.fault.Store(&logFault{seq, sqldb.NewUnreadableError(errors.New("a damaged page"))})
		if sum := checkIntegrity(t, s, false); sum.Found != 1 {
			t.Errorf("found %v", sum.Inconsistencies)
		}
	})
}
