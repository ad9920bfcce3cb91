package sqldb

import (
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestStatementsWriteChecksums(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, q, sqlite, postgres string }{
		{"a table without checksums", `UPDATE jobs SET due = ?2 WHERE row_id = ?1`,
			`UPDATE jobs SET due = ?2 WHERE row_id = ?1`, `UPDATE jobs SET due = ?2 WHERE row_id = ?1`},
		{"columns outside the checksum", `UPDATE atlases SET memories = memories + ?2, bytes = ?3 WHERE row_id = ?1`,
			`UPDATE atlases SET memories = memories + ?2, bytes = ?3 WHERE row_id = ?1`,
			`UPDATE atlases SET memories = memories + ?2, bytes = ?3 WHERE row_id = ?1`},
		{"an insertion", `INSERT INTO checkpoints (session, summary) VALUES (?1, 'a, (b') RETURNING number`,
			`INSERT INTO checkpoints (session, summary, row_checksum) VALUES (?1, 'a, (b', ` +
				`loci_checksum(0, 'session', CAST(?1 AS INTEGER), 'summary', CAST('a, (b' AS TEXT))) RETURNING number`,
			`INSERT INTO checkpoints (session, summary, row_checksum) VALUES (?1, 'a, (b', ` +
				`0 # loci_checksum('session', CAST(CAST(?1 AS BIGINT) AS TEXT)) # ` +
				`loci_checksum('summary', CAST(CAST('a, (b' AS TEXT) AS TEXT))) RETURNING number`},
		{"an update of some", `UPDATE api_keys AS k SET hash = ?2, name = upper(name) FROM users u WHERE k.id = ?1`,
			`UPDATE api_keys AS k SET hash = ?2, name = upper(name), row_checksum = loci_checksum(k.row_checksum, ` +
				`'hash', k.hash, 'hash', CAST(?2 AS BLOB), 'name', k.name, 'name', CAST(upper(name) AS TEXT)) ` +
				`FROM users u WHERE k.id = ?1`,
			`UPDATE api_keys AS k SET hash = ?2, name = upper(name), row_checksum = k.row_checksum # ` +
				`loci_checksum('hash', encode(k.hash, 'hex')) # ` +
				`loci_checksum('hash', encode(CAST(?2 AS BYTEA), 'hex')) # ` +
				`loci_checksum('name', CAST(k.name AS TEXT)) # ` +
				`loci_checksum('name', CAST(CAST(upper(name) AS TEXT) AS TEXT)) FROM users u WHERE k.id = ?1`},
		{"an update after a conflict", `INSERT INTO metadata (name, value) SELECT 'n', name FROM generations
			WHERE row_id = ?1 ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
			`INSERT INTO metadata (name, value, row_checksum) SELECT 'n', name, loci_checksum(0, 'name', ` +
				`CAST('n' AS TEXT), 'value', CAST(name AS TEXT)) FROM generations
			WHERE row_id = ?1 ON CONFLICT (name) DO UPDATE SET value = excluded.value, row_checksum = ` +
				`loci_checksum(metadata.row_checksum, 'value', metadata.value, 'value', CAST(excluded.value AS TEXT))`,
			`INSERT INTO metadata (name, value, row_checksum) SELECT 'n', name, 0 # loci_checksum('name', ` +
				`CAST(CAST('n' AS TEXT) AS TEXT)) # loci_checksum('value', CAST(CAST(name AS TEXT) AS TEXT)) FROM generations
			WHERE row_id = ?1 ON CONFLICT (name) DO UPDATE SET value = excluded.value, row_checksum = ` +
				`metadata.row_checksum # loci_checksum('value', CAST(metadata.value AS TEXT)) # ` +
				`loci_checksum('value', CAST(CAST(excluded.value AS TEXT) AS TEXT))`},
	} {
		for _, d := range []struct {
			dialect *Dialect
			want    string
		}{{&Dialect{}, test.sqlite}, {&Dialect{Postgres: true}, test.postgres}} {
			got, err := WithChecksums(test.q, d.dialect)
			if err != nil || got != d.want {
				t.Errorf("%s: %v\n got %s\nwant %s", test.name, err, got, d.want)
			}
		}
	}
}

func TestStatementsThatCannotWriteChecksumsFail(t *testing.T) {
	t.Parallel()
	for _, q := range []string{
		`INSERT INTO users VALUES (?1)`,
		`INSERT INTO users (id, name) VALUES (?1)`,
		`INSERT INTO users (id) SELECT DISTINCT id FROM agents`,
		`INSERT INTO users (id) SELECT id FROM agents UNION SELECT id FROM api_keys`,
		`INSERT INTO users (id) DEFAULT`,
		`UPDATE users SET (id, name) = (SELECT id, name FROM agents)`,
	} {
		if got, err := WithChecksums(q, &Dialect{}); err == nil {
			t.Errorf("%s became %s", q, got)
		}
	}
}

// Values of one column that differ have different hashes, but those that are empty.
func TestChecksumsTellValuesApart(t *testing.T) {
	t.Parallel()
	seen := map[int64]any{}
	for _, value := range []any{int64(1), int64(-1), int64(256), 1.0, 0.5, "1", "a", "aa", "\x01",
		[]byte{1}, []byte("a")} {
		sum := Checksum(0, "a", value)
		if other, is := seen[sum]; is || sum == 0 {
			t.Errorf("%T %[1]v has the checksum of %v", value, other)
		}
		seen[sum] = value
		testenv.Equal(t, Checksum(sum, "a", value, "a", "b"), Checksum(0, "a", "b"), "replaced")
		if Checksum(0, "b", value) == sum {
			t.Errorf("%v has one checksum in two columns", value)
		}
	}
	for _, value := range []any{nil, int64(0), "", []byte{}, []byte(nil)} {
		testenv.Equal(t, Checksum(7, "a", value), 7, value)
	}
}
