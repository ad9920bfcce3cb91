package sqlite

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb"
)

func TestDamageOfAnIndexAndUnusedPagesAreRepairable(t *testing.T) {
	t.Parallel()
	k := structureScan{indexes: map[string]string{"a": "t", "b": "t", "c": "t", "d": "t"},
		position: map[sqldb.DamageKey]int{}}
	for _, line := range []string{"Page 7: never used", "Freelist: size is 3 but should be 4", "Page 8: never used",
		"row 1 missing from index a", "row 1 values differ from index b", "wrong # of entries in index c",
		"non-unique entry in index a", "rowid not at end-of-record for row 1 of index d"} {
		k.report(objectIn(line, nil), line)
	}
	want := []sqldb.StructureDamage{{IsUnused: true, Detail: "Page 7: never used, and more"},
		{Detail: "Freelist: size is 3 but should be 4"},
		{Name: "a", IsIndex: true, Table: "t", Detail: "row 1 missing from index a, and more"},
		{Name: "b", IsIndex: true, Table: "t", Detail: "row 1 values differ from index b"},
		{Name: "c", IsIndex: true, Table: "t", Detail: "wrong # of entries in index c"},
		{Name: "d", IsIndex: true, Table: "t", Detail: "rowid not at end-of-record for row 1 of index d"}}
	if !slices.Equal(k.list, want) {
		t.Errorf("%+v", k.list)
	}
	for _, f := range k.list {
		if f.Repairable() != (f != want[1]) {
			t.Errorf("repairable is %v of %+v", f.Repairable(), f)
		}
	}
}
