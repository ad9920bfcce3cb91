package sqldb

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
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
		{"an insertion", `INSERT INTO checkpoints (session, summary) VALUES (?1, upper('a, (b')) RETURNING number`,
			`INSERT INTO checkpoints (session, summary, row_checksum) VALUES (?1, upper('a, (b'), loci_checksum(0, ?2, ` +
				`'checkpoints summary', CAST(upper('a, (b') AS TEXT))) RETURNING number`,
			`INSERT INTO checkpoints (session, summary, row_checksum) VALUES (?1, upper('a, (b'), ` +
				`0 # CAST(?2 AS BIGINT) # loci_checksum('summary', CAST(NULLIF(CAST(upper('a, (b') AS TEXT), '') AS TEXT)))` +
				` RETURNING number`},
		{"an insertion of arguments", `INSERT INTO checkpoints (session, number) VALUES (?1, 7), (CAST(?2 AS BIGINT), 0)`,
			`INSERT INTO checkpoints (session, number, row_checksum) VALUES (?1, 7, ?3), (CAST(?2 AS BIGINT), 0, ?4)`,
			`INSERT INTO checkpoints (session, number, row_checksum) VALUES (?1, 7, CAST(?3 AS BIGINT)), ` +
				`(CAST(?2 AS BIGINT), 0, CAST(?4 AS BIGINT))`},
		{"an update of some", `UPDATE api_keys AS k SET hash = ?2, name = upper(name) FROM users u WHERE k.id = ?1`,
			`UPDATE api_keys AS k SET hash = ?2, name = upper(name), row_checksum = loci_checksum(k.row_checksum, ?3, ` +
				`'api_keys hash name name', k.hash, k.name, CAST(upper(name) AS TEXT)) FROM users u WHERE k.id = ?1`,
			`UPDATE api_keys AS k SET hash = ?2, name = upper(name), row_checksum = k.row_checksum # ` +
				`CAST(?3 AS BIGINT) # loci_checksum('hash', encode(NULLIF(k.hash, ''), 'hex')) # ` +
				`loci_checksum('name', CAST(NULLIF(k.name, '') AS TEXT)) # ` +
				`loci_checksum('name', CAST(NULLIF(CAST(upper(name) AS TEXT), '') AS TEXT)) FROM users u WHERE k.id = ?1`},
		{"an update after a conflict", `INSERT INTO metadata (name, value) SELECT 'n', name FROM generations
			WHERE row_id = ?1 ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
			`INSERT INTO metadata (name, value, row_checksum) SELECT 'n', name, loci_checksum(0, ?2, 'metadata value', ` +
				`CAST(name AS TEXT)) FROM generations
			WHERE row_id = ?1 ON CONFLICT (name) DO UPDATE SET value = excluded.value, row_checksum = ` +
				`loci_checksum(metadata.row_checksum, 0, 'metadata value value', metadata.value, ` +
				`CAST(excluded.value AS TEXT))`,
			`INSERT INTO metadata (name, value, row_checksum) SELECT 'n', name, 0 # CAST(?2 AS BIGINT) # ` +
				`loci_checksum('value', CAST(NULLIF(CAST(name AS TEXT), '') AS TEXT)) FROM generations
			WHERE row_id = ?1 ON CONFLICT (name) DO UPDATE SET value = excluded.value, row_checksum = ` +
				`metadata.row_checksum # 0 # loci_checksum('value', CAST(NULLIF(metadata.value, '') AS TEXT)) # ` +
				`loci_checksum('value', CAST(NULLIF(CAST(excluded.value AS TEXT), '') AS TEXT))`},
	} {
		for _, d := range []struct {
			dialect *Dialect
			want    string
		}{{&Dialect{}, test.sqlite}, {&Dialect{Postgres: true}, test.postgres}} {
			got, err := Rewrite(test.q, d.dialect)
			if err != nil || got.Text != d.want {
				t.Errorf("%s: %v\n got %s\nwant %s", test.name, err, got.Text, d.want)
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
		if got, err := Rewrite(q, &Dialect{}); err == nil {
			t.Errorf("%s became %s", q, got.Text)
		}
	}
}

// Values of one column that differ have different hashes. Those that a new column has by default have none.
func TestChecksumsTellValuesApart(t *testing.T) {
	t.Parallel()
	values := []any{nil, int64(0), int64(1), int64(-1), int64(256), 0.0, 1.0, 0.5, "", "0", "1", "a", "aa", "\x01",
		[]byte{1}, []byte("a")}
	for column, without := range map[string]any{"sessions memory": nil, "sessions atlas": int64(0), "users name": "",
		"api_keys hash": nil, "memories confidence": nil} {
		seen := map[int64]any{}
		for _, value := range values {
			sum := Checksum(int64(0), 0, column, value)
			if other, is := seen[sum]; is || (sum == 0) != (value == without) {
				t.Errorf("%s: %T %[2]v has the checksum %d, that of %v", column, value, sum, other)
			}
			seen[sum] = value
			names := column + " " + strings.Fields(column)[1]
			testenv.Equal(t, Checksum(sum, 5, names, value, int64(9)), Checksum(int64(0), 5, column, int64(9)))
		}
	}
	if Checksum(nil, 0, "users name", "a") == Checksum(nil, 0, "users email", "a") {
		t.Error("a value has one checksum in two columns")
	}
}

// The arguments of a statement have the hashes of what it stores.
func TestArgumentsHaveHashesOfStoredValues(t *testing.T) {
	t.Parallel()
	type name string
	text, number := "a", 0.5
	for _, test := range []struct {
		column      string
		arg, stored any
	}{
		{"users name", name("a"), "a"}, {"users name", &text, "a"}, {"users verified", true, int64(1)},
		{"users verified", false, int64(0)}, {"users pro_until", loci.Time(7), int64(7)},
		{"memories confidence", &number, 0.5}, {"memories confidence", 1, 1.0},
		{"memories confidence", (*float64)(nil), nil}, {"api_keys hash", []byte{1}, []byte{1}},
	} {
		table, column, _ := strings.Cut(test.column, " ")
		s := testenv.Must(Rewrite("INSERT INTO "+table+" ("+column+") VALUES (?1)", &Dialect{}))(t)
		sums := []int64{}
		testenv.NoError(t, s.AddSums(&Dialect{}, func(int) any { return test.arg },
			func(sum int64) { sums = append(sums, sum) }))
		testenv.EqualSlices(t, sums, []int64{Checksum(nil, 0, test.column, test.stored)}, test.column)
	}
}

func TestDeletionsClearReferences(t *testing.T) {
	t.Parallel()
	for q, want := range map[string][]string{
		`DELETE FROM versions WHERE memory = ?1`: nil,
		`DELETE FROM atlases WHERE id = ?1 AND workspace IS NULL`: {
			`UPDATE policies SET atlas = NULL WHERE atlas IN (SELECT row_id FROM atlases WHERE id = ?1 ` +
				`AND workspace IS NULL)`},
		`DELETE FROM grants WHERE id = ?1 RETURNING id`: {
			`UPDATE agents SET grant_id = NULL WHERE grant_id IN (SELECT id FROM grants WHERE id = ?1)`},
		`DELETE FROM users WHERE id = ?1`: {
			`UPDATE referrals SET invitee = NULL WHERE invitee IN (SELECT id FROM users WHERE id = ?1)`,
			`UPDATE agents SET user_id = NULL WHERE user_id IN (SELECT id FROM users WHERE id = ?1)`},
	} {
		s := testenv.Must(Rewrite(q, &Dialect{}))(t)
		testenv.EqualSlices(t, s.Before, want, q)
		testenv.Equal(t, s.Text, q)
		if s = testenv.Must(Rewrite(q, &Dialect{Postgres: true}))(t); want != nil {
			locked, _, _ := strings.Cut(strings.Replace(q, "DELETE", "SELECT 1", 1), " RETURNING ")
			want = append([]string{locked + " FOR UPDATE"}, want...)
		}
		testenv.EqualSlices(t, s.Before, want, q)
	}
}

func TestChecksumsCoverColumnsOfTheSchema(t *testing.T) {
	t.Parallel()
	if c := ChecksumTables()["memories"].column("checksum"); c != nil {
		t.Error("a dropped column is within the checksum")
	}
	if c := ChecksumTables()["memories"].column("title_derived"); c == nil || !c.nullable || c.kind != "BOOLEAN" {
		t.Errorf("an added column is %+v", c)
	}
}
