package record_test

import (
	"reflect"
	"testing"

	"github.com/loci-memory/loci/internal/store/record"
	"github.com/loci-memory/loci/internal/testenv"
)

type row struct {
	id, title, text string
	seen            int
	links           string
}

const onReview = record.Group

var table = record.Table[row]{
	record.Of("id", record.Inserted, func(r *row) *string { return &r.id }),
	record.Of("title", record.Always, func(r *row) *string { return &r.title }),
	record.Of("text", record.Changed, func(r *row) *string { return &r.text }),
	record.Of("seen", onReview, func(r *row) *int { return &r.seen }),
	record.Of("links", record.Elsewhere, func(r *row) *string { return &r.links }),
}

func TestTableWritesStatements(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		table.List("r."):             " r.id, r.title, r.text, r.seen, r.links ",
		table.List("", onReview):     " seen ",
		table.Insert("rows", "hash"): "INSERT INTO rows (hash, id, title, text) VALUES (?1, ?2, ?3, ?4)",
	} {
		testenv.Equal(t, got, want)
	}
	r := row{"7", "a", "b", 3, "c"}
	if got := table.Values(&r, 9); !reflect.DeepEqual(got, []any{9, "7", "a", "b"}) {
		t.Error(got)
	}
	*table.Dest(&r)[3].(*int) = 4
	testenv.Equal(t, r.seen, 4)
}

func TestUpdateWritesChangedColumnsOfItsGroups(t *testing.T) {
	t.Parallel()
	was := row{"7", "a", "b", 3, "c"}
	for _, test := range []struct {
		next   row
		groups []record.When
		kept   row
		clause string
		args   []any
	}{
		{row{"8", "x", "b", 4, "d"}, nil, row{"7", "x", "b", 3, "c"}, "title = ?2", []any{1, "x"}},
		{row{"8", "x", "y", 4, "d"}, []record.When{onReview}, row{"7", "x", "y", 4, "c"},
			"title = ?2, text = ?3, seen = ?4", []any{1, "x", "y", 4}},
	} {
		testenv.Equal(t, table.Equal(&test.next, &was), false)
		next := test.next
		if table.Keep(&next, &was, test.groups...); next != test.kept {
			t.Errorf("keeps %v, want %v", next, test.kept)
		}
		u := record.Update{Args: []any{1}}
		table.Assign(&u, &next, &was, test.groups...)
		if u.Clause() != test.clause || !reflect.DeepEqual(u.Args, test.args) {
			t.Errorf("%s with %v, want %s with %v", u.Clause(), u.Args, test.clause, test.args)
		}
	}
}
