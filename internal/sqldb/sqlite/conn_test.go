package sqlite

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A column that does not fit is an error, as it is with database/sql, and never another value.
func TestColumnsFitTheirPlacesOrFail(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	seven, half := 7, loci.Confidence(.5)
	for _, c := range []struct {
		column string
		dest   any // a pointer
		want   any // nil: an error
	}{
		{`'a'`, new(string), "a"}, {`'a'`, new(loci.Role), loci.Role("a")}, {`7`, new(int), 7},
		{`7`, new(int64), int64(7)}, {`7`, new(uint8), uint8(7)},
		{`7`, new(loci.Time), loci.Time(7)}, {`1`, new(bool), true}, {`0`, new(bool), false},
		{`1 = 1`, new(bool), true}, {`.5`, new(float64), .5},
		{`x'6100'`, new([]byte), []byte("a\x00")}, {`''`, new(string), ""},
		{`7`, new(*int), &seven}, {`NULL`, new(*int), (*int)(nil)}, {`.5`, new(*loci.Confidence), &half},
		{`NULL`, new(*string), (*string)(nil)}, {`NULL`, new([]byte), []byte(nil)},
		{`NULL`, new(string), nil}, {`NULL`, new(int), nil}, {`7`, new(string), nil}, {`'7'`, new(int), nil},
		{`256`, new(uint8), nil}, {`-1`, new(uint8), nil},
		{`7.5`, new(int), nil}, {`'1'`, new(bool), nil}, {`'a'`, new([]byte), nil}, {`x'61'`, new(string), nil},
	} {
		err := s.db.Read(ctx, "", func(conn sqldb.Conn) error {
			return conn.QueryRow(`SELECT `+c.column, nil, []any{c.dest})
		})
		if c.want == nil {
			if err == nil {
				t.Errorf("%s went into %T", c.column, c.dest)
			}
			continue
		}
		if got := reflect.ValueOf(c.dest).Elem().Interface(); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s is %#v, want %#v: %v", c.column, got, c.want, err)
		}
	}
	var one int
	if err := s.db.Read(ctx, "", func(c sqldb.Conn) error {
		return c.QueryRow(`SELECT 1, 2`, nil, []any{&one})
	}); err == nil {
		t.Error("two columns went into one place")
	}
}

// A deletion clears references by statements of its own, for which the connection may close prepared ones.
func TestDeletionRunsWhenTheConnectionClosesStatements(t *testing.T) {
	t.Parallel()
	s := openFile(t, sqldb.Options{})
	if err := s.db.Write(ctx, "", func(c sqldb.Conn) error {
		for n := maxPrepared - 5; n <= maxPrepared; n++ {
			c.(*conn).closeStatements()
			for i := range n {
				if err := c.QueryRow(fmt.Sprintf(`SELECT %d`, i), nil, []any{new(int)}); err != nil {
					return err
				}
			}
			if _, err := c.Exec(`DELETE FROM users WHERE id = ?1`, []any{"nobody"}); err != nil {
				return fmt.Errorf("after %d statements: %w", n, err)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
