package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// deliberateDifferences are those between the schemas of SQLite and PostgreSQL, as words of the lines of schema.
var deliberateDifferences = []struct{ sqlite, postgres, reason string }{
	{" row id ", " bigint identity ", "an INTEGER PRIMARY KEY is the row id, which SQLite sets itself"},
	{" BLOB ", " bytea ", "the types of bytes have different names"},
	{" REAL ", " double precision ", "REAL has 8 bytes in SQLite and 4 in PostgreSQL"},
	{"table rate_limits", "table rate_limits unlogged", "a crash may lose it, and no commit waits for the disk"},
}

// The catalogs of both databases give lines of the same form: the tables, their columns with position, type, null and
// default, their keys and indexes, and their foreign keys. The row id of SQLite has no index of its own.
const (
	sqliteSchema = `
		WITH t AS (SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
			AND name NOT LIKE 'goose%'),
		c AS (SELECT t.name AS t, c.*, c.type = 'INTEGER' AND c.pk = 1 AND NOT EXISTS (
			SELECT 1 FROM pragma_index_list(t.name) i WHERE i.origin = 'pk') AS row_id FROM t, pragma_table_info(t.name) c)
		SELECT 'table ' || name FROM t
		UNION ALL SELECT 'column ' || t || ' ' || (cid + 1) || ' ' || name || ' ' || CASE WHEN row_id THEN 'row id'
			WHEN type IN ('BLOB', 'REAL') THEN type ELSE lower(type) END || CASE WHEN "notnull" OR row_id THEN ' not null'
			ELSE ' null' END || COALESCE(' ' || lower(dflt_value), '') FROM c
		UNION ALL SELECT 'index ' || t || ' primary key unique ' || name FROM c WHERE row_id
		UNION ALL SELECT 'index ' || t.name || CASE i.origin WHEN 'pk' THEN ' primary key' WHEN 'u' THEN ' key'
			ELSE ' ' || i.name END || CASE WHEN i."unique" THEN ' unique ' ELSE ' ' END ||
			(SELECT group_concat(k.name, ',' ORDER BY k.seqno) FROM pragma_index_info(i.name) k) ||
			CASE WHEN i.partial THEN ' ' || substr(s.sql, instr(s.sql, 'WHERE ')) ELSE '' END
			FROM t, pragma_index_list(t.name) i LEFT JOIN sqlite_schema s ON s.name = i.name
		UNION ALL SELECT 'reference ' || t.name || ' ' || group_concat(f."from", ',' ORDER BY f.seq) || ' ' || f."table" ||
			' ' || group_concat(f."to", ',' ORDER BY f.seq) || ' ' || f.on_delete
			FROM t, pragma_foreign_key_list(t.name) f GROUP BY t.name, f.id`

	postgresSchema = `
		WITH t AS (SELECT * FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
			AND relname NOT LIKE 'goose%')
		SELECT 'table ' || relname || CASE relpersistence WHEN 'u' THEN ' unlogged' ELSE '' END FROM t
		UNION ALL SELECT concat('column ', relname, ' ', row_number() OVER (PARTITION BY attrelid ORDER BY attnum), ' ',
			attname, ' ', format_type(atttypid, atttypmod),
			CASE attidentity WHEN 'a' THEN ' identity' END, CASE WHEN attnotnull THEN ' not null' ELSE ' null' END,
			' ' || replace(pg_get_expr(adbin, adrelid), '::text', ''))
			FROM t JOIN pg_attribute a ON attrelid = t.oid LEFT JOIN pg_attrdef ON adrelid = t.oid AND adnum = attnum
			WHERE attnum > 0 AND NOT attisdropped
		UNION ALL SELECT concat('index ', t.relname, CASE k.contype WHEN 'p' THEN ' primary key' WHEN 'u' THEN ' key'
			ELSE ' ' || i.relname END, CASE WHEN indisunique THEN ' unique' END, ' ',
			(SELECT string_agg(attname, ',' ORDER BY n) FROM unnest(indkey) WITH ORDINALITY u (number, n)
				JOIN pg_attribute ON attrelid = t.oid AND attnum = number),
			' WHERE ' || replace(translate(pg_get_expr(indpred, indrelid), '()', ''), '::text', ''))
			FROM t JOIN pg_index ON indrelid = t.oid JOIN pg_class i ON i.oid = indexrelid
			LEFT JOIN pg_constraint k ON conindid = i.oid AND contype IN ('p', 'u')
		UNION ALL SELECT concat('reference ', t.relname, ' ', string_agg(a.attname, ',' ORDER BY n), ' ', o.relname, ' ',
			string_agg(b.attname, ',' ORDER BY n), CASE confdeltype WHEN 'c' THEN ' CASCADE' WHEN 'n' THEN ' SET NULL'
			ELSE ' NO ACTION' END)
			FROM t JOIN pg_constraint k ON conrelid = t.oid AND contype = 'f' JOIN pg_class o ON o.oid = confrelid
			CROSS JOIN LATERAL unnest(conkey, confkey) WITH ORDINALITY u (own, other, n)
			JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = own
			JOIN pg_attribute b ON b.attrelid = o.oid AND b.attnum = other GROUP BY k.oid, t.relname, o.relname, confdeltype`
)

// schema lists what a database consists of, in the words of PostgreSQL.
func schema(t *testing.T, d storetest.Database) []string {
	t.Helper()
	if d.Address != "" {
		return slices.Sorted(slices.Values(d.Query(t, postgresSchema)))
	}
	lines := strings.Join(slices.Sorted(slices.Values(d.Query(t, sqliteSchema))), "\n")
	for _, difference := range deliberateDifferences {
		if !strings.Contains(lines, difference.sqlite) {
			t.Errorf("%q is nowhere: %s", difference.sqlite, difference.reason)
		}
		lines = strings.ReplaceAll(lines, difference.sqlite, difference.postgres)
	}
	return strings.Split(lines, "\n")
}

func TestMigrationsMakeSameSchemaOnBothDatabases(t *testing.T) {
	t.Parallel()
	schemas := make([][]string, store.SchemaVersion())
	file := storetest.Database{Engine: sqlite.Driver, Dir: t.TempDir()}
	for n := range schemas {
		store.MigrateTo(t, file.DB(t), int64(n+1))
		if schemas[n] = schema(t, file); len(schemas[n]) < 600 {
			t.Fatalf("migration %d makes only %d lines", n+1, len(schemas[n]))
		}
	}
	storetest.EachEmpty(t, func(t *testing.T, d storetest.Database) {
		for n, want := range schemas {
			store.MigrateTo(t, d.DB(t), int64(n+1))
			have := schema(t, d)
			for _, line := range want {
				if !slices.Contains(have, line) {
					t.Errorf("migration %d: SQLite alone has %q", n+1, line)
				}
			}
			for _, line := range have {
				if !slices.Contains(want, line) {
					t.Errorf("migration %d: %s alone has %q", n+1, d.Engine, line)
				}
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
		if f := searchKeywords(t, again, ann, "restart", loci.MemoryFilter{}); len(f.Hits) != 1 ||
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
			m, err := memorydb.Open(tx, gone, store.InAnyState)
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
