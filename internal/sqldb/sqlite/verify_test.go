package sqlite

import (
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/testenv"
)

// migrationsUpTo returns the migrations that make a schema.
func migrationsUpTo(t *testing.T, schema int) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	names := testenv.Must(fs.Glob(sqldb.MigrationFiles, "migrations/*.sql"))(t)
	for _, name := range names[:schema] {
		files[name] = &fstest.MapFile{Data: testenv.Must(sqldb.MigrationFiles.ReadFile(name))(t)}
	}
	return files
}

// A process that dies after a migration leaves its number.
func TestMigrationRecordsItsNumberWithItsChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := testenv.Must(newDatabase(filepath.Join(dir, FileName), sqldb.Options{}))(t)
	defer d.migrationDB.Close()
	p := testenv.Must(sqldb.NewMigrator(dialect, d.migrationDB, nil))(t)
	for schema := int64(1); schema <= sqldb.LatestSchema; schema++ {
		_ = testenv.Must(p.UpByOne(t.Context()))(t)
		testenv.Equal(t, testenv.Must(SchemaStatus(t.Context(), dir))(t).Current, schema)
	}
}

// An unreleased program recorded the number later, and may have died before that.
func TestMigrationContinuesAfterKill(t *testing.T) {
	t.Parallel()
	for schema := 1; schema <= int(sqldb.LatestSchema); schema++ {
		dir := t.TempDir()
		d := testenv.Must(Open(t.Context(), dir, sqldb.Options{Migrations: migrationsUpTo(t, schema)}))(t)
		testenv.NoError(t, d.Close())
		testenv.NoError(t, withFile(dir, func(c *conn) error {
			_, err := c.Exec(`PRAGMA user_version = `+strconv.Itoa(schema-1), nil)
			return err
		}))
		d, err := Open(t.Context(), dir, sqldb.Options{})
		if err != nil {
			t.Errorf("schema %d: %v", schema, err)
			continue
		}
		testenv.NoError(t, d.Close())
		testenv.Equal(t, testenv.Must(SchemaStatus(t.Context(), dir))(t).Current, sqldb.LatestSchema)
	}
}

// A schema with checksums is compared with them, also an earlier one. The tables of another are named.
func TestRowsOfEverySchemaAreVerified(t *testing.T) {
	t.Parallel()
	packed := testenv.Must(os.Open("../../store/testdata/schema/schema-3.db.gz"))(t)
	defer packed.Close()
	file := testenv.Must(io.ReadAll(testenv.Must(gzip.NewReader(packed))(t)))(t)
	for schema := 3; schema <= int(sqldb.LatestSchema); schema++ {
		dir := t.TempDir()
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, FileName), file, 0o600))
		if schema > 3 {
			d := testenv.Must(Open(t.Context(), dir, sqldb.Options{Migrations: migrationsUpTo(t, schema)}))(t)
			testenv.NoError(t, d.Close())
		}
		damage, notChecked, err := VerifyRows(t.Context(), dir)
		if damage != "" || err != nil || (len(notChecked) == 0) != (schema > 3) {
			t.Fatalf("schema %d: %q, %q, %v", schema, damage, notChecked, err)
		}
		damaged := 0
		for name, table := range sqldb.TablesOf(int64(schema)) {
			if !table.HasChecksums() {
				continue
			}
			flip := func() (rows int64) {
				testenv.NoError(t, withFile(dir, func(c *conn) (err error) {
					c.isOld = true // no statement corrects it
					rows, err = c.Exec(`UPDATE `+name+` SET row_checksum = ~row_checksum`, nil)
					return err
				}))
				return rows
			}
			if flip() == 0 {
				continue
			}
			damaged++
			if damage, _, err := VerifyRows(t.Context(), dir); err != nil || !strings.HasSuffix(damage, " of "+name) {
				t.Errorf("schema %d, %s: %q, %v", schema, name, damage, err)
			}
			flip()
		}
		if (damaged < 10) != (schema == 3) {
			t.Errorf("schema %d: damage of %d tables was tried", schema, damaged)
		}
	}
}
