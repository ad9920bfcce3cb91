package store_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// columnTypes maps the types of both databases to one name each.
var columnTypes = map[string]string{"REAL": "float", "double": "float",
	"INTEGER": "INTEGER", "BIGINT": "BIGINT", "TEXT": "TEXT", "BLOB": "BYTES", "BOOLEAN": "BOOLEAN",
	"integer": "INTEGER", "bigint": "BIGINT", "text": "TEXT", "bytea": "BYTES", "boolean": "BOOLEAN",
}

// The introspection of both databases gives the same lines: "table.column type null" and "table index unique columns".
const (
	sqliteColumns = `SELECT t.name || '.' || c.name || ' ' || CASE WHEN c.name IN ('row_id', 'seq')
		AND c.pk = 1 THEN 'BIGINT' ELSE c.type END || ' ' || (c."notnull" = 0 AND c.pk = 0)
		FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
		AND t.name NOT LIKE 'goose%'`
	postgresColumns = `SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || CASE is_nullable WHEN
		'YES' THEN 1 ELSE 0 END
		FROM information_schema.columns WHERE table_schema = current_schema() AND table_name NOT LIKE 'goose%'`
	sqliteIndexes = `SELECT t.name || ' ' || CASE WHEN i.origin = 'c' THEN i.name ELSE '' END || ' ' || i."unique" ||
		' ' || i.partial || ' ' ||
		(SELECT group_concat(name, ',') FROM (SELECT c.name FROM pragma_index_info(i.name) c ORDER BY c.seqno))
		FROM sqlite_schema t, pragma_index_list(t.name) i WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
		AND t.name NOT LIKE 'goose%'`
	postgresIndexes = `SELECT t.relname || ' ' || CASE WHEN k.oid IS NULL THEN i.relname ELSE '' END || ' ' ||
		CAST(x.indisunique AS INTEGER) || ' ' ||
		CAST(x.indpred IS NOT NULL AS INTEGER) || ' ' || (SELECT string_agg(a.attname, ',' ORDER BY n)
		FROM unnest(x.indkey) WITH ORDINALITY u (attnum, n)
			JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = u.attnum)
		FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
		LEFT JOIN pg_constraint k ON k.conindid = i.oid AND k.contype IN ('p', 'u')
		WHERE t.relnamespace = current_schema()::regnamespace AND t.relname NOT LIKE 'goose%'`
	sqliteReferences = `SELECT t.name || '.' || f."from" || ' ' || f."table" || '.' || f."to" || ' ' || f.on_delete
		FROM sqlite_schema t, pragma_foreign_key_list(t.name) f WHERE t.type = 'table'`
	postgresReferences = `SELECT t.relname || '.' || a.attname || ' ' || o.relname || '.' || b.attname || ' ' || CASE
		k.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' ELSE 'NO ACTION' END
		FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid JOIN pg_class o ON o.oid = k.confrelid
		CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS pair (own, other)
		JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = pair.own
		JOIN pg_attribute b ON b.attrelid = o.oid AND b.attnum = pair.other
		WHERE k.contype = 'f' AND t.relnamespace = current_schema()::regnamespace`
)

// schema lists what a database consists of. The index of a rid or a seq is left out: in SQLite it is the table.
func schema(t *testing.T, d storetest.Database) []string {
	columns, indexes, references := sqliteColumns, sqliteIndexes, sqliteReferences
	if d.Address != "" {
		columns, indexes, references = postgresColumns, postgresIndexes, postgresReferences
	}
	lines := map[string]bool{}
	for _, line := range d.Query(t, columns) {
		words := strings.Fields(strings.Replace(line, "double precision", "double", 1))
		same, known := columnTypes[words[1]]
		if !known {
			t.Errorf("%s is of the type %s", words[0], words[1])
		}
		lines[fmt.Sprint("column ", words[0], " ", same, " ", words[2])] = true
	}
	for _, line := range append(d.Query(t, indexes), d.Query(t, references)...) {
		if !strings.HasSuffix(line, "  1 0 row_id") && !strings.HasSuffix(line, "  1 0 seq") {
			lines[line] = true
		}
	}
	return slices.Sorted(maps.Keys(lines))
}

func TestBothSchemasAreTheSame(t *testing.T) {
	t.Parallel()
	var sqlite []string
	file := storetest.Database{Engine: sqldb.Driver, Dir: t.TempDir()}
	file.Open(t, store.Options{})
	if sqlite = schema(t, file); len(sqlite) < 120 {
		t.Fatalf("only %d lines", len(sqlite))
	}
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		d.Open(t, store.Options{})
		other := schema(t, d)
		for _, line := range sqlite {
			if !slices.Contains(other, line) {
				t.Errorf("SQLite alone has %q", line)
			}
		}
		for _, line := range other {
			if !slices.Contains(sqlite, line) {
				t.Errorf("%s alone has %q", d.Engine, line)
			}
		}
	})
}

func TestOpenRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		s.Close()
		newer := `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`
		if d.Dir != "" {
			newer = `PRAGMA user_version = 9999`
		}
		d.Exec(t, newer)
		_, err := d.TryOpen(store.Options{})
		if err == nil || !strings.Contains(err.Error(), "9999") || !strings.Contains(err.Error(), "newer loci") {
			t.Errorf("told %v", err)
		}
	})
}

func TestReopenKeepsSecretAndMemories(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", "kept over a restart")
		s.Close()
		again := d.Open(t, store.Options{})
		if string(again.Secret()) != string(s.Secret()) {
			t.Error("another secret")
		}
		if f := searchKeywords(t, again, ann, "restart", store.Filter{}); len(f.Hits) != 1 ||
			f.Hits[0].Memory.Content != m.Content {
			t.Errorf("found %v", f)
		}
	})
}

// Caches and running jobs refer to memories by row ids.
func TestRowIDOfADeletedMemoryIsNotReused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		gone := add(t, s, ann, "", "the blue boat").ID
		if _, err := store.Write(ctx, s, ann, func(tx *store.Tx) (loci.Empty, error) {
			m, err := tx.Memory(gone, store.InAnyState)
			if err != nil {
				return loci.Empty{}, err
			}
			return loci.Empty{}, m.Delete()
		}); err != nil {
			t.Fatal(err)
		}
		add(t, s, ann, "", "the red bicycle")
		if got := d.Query(t, `SELECT row_id FROM memories`); !slices.Equal(got, []string{"2"}) {
			t.Errorf("the memory has row id %v", got)
		}
	})
}
