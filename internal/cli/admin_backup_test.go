package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// newBackup makes a database with a user and two keys, and a backup of it.
func newBackup(t *testing.T) (dir, file string) {
	t.Helper()
	dir, file = t.TempDir(), filepath.Join(t.TempDir(), "loci.tar")
	run := adminRunner(t, dir)
	run(exitOK, "user", "create", "--email", "ada@example.org")
	run(exitOK, "key", "create", "--email", "ada@example.org", "--name", "laptop")
	run(exitOK, "key", "create", "--email", "ada@example.org", "--name", "revoked")
	execSQL(t, dir, `UPDATE api_keys SET revoked_at = 5 WHERE name = 'revoked'`)
	run(exitOK, "user", "reset", "--email", "ada@example.org") // a link that must not work again after a restore
	execSQL(t, dir,
		`INSERT INTO sign_ins (id, user_id, hash, user_agent, address, created_at, used_at)
		SELECT 'one', id, x'01', '', '', 5, 5 FROM users`)
	execSQL(t, dir, `INSERT INTO grants (id, user_id, client_id, client_name, client_uri, redirect_uri, resource, scope,
		code_hash, family_hash, created_at, updated_at, last_used_at, expires_at)
		SELECT 'grant', id, '', '', '', '', '', '', x'02', x'06', 5, 5, 5, 5 FROM users`)
	execSQL(t, dir, `INSERT INTO grant_tokens (grant_id, access_hash, access_secret, refresh_hash, refresh_secret,
		created_at, replaced_at) VALUES ('grant', x'03', x'', x'04', x'', 5, 0)`)
	execSQL(t, dir, `INSERT INTO oauth_codes (hash, user_id, sign_in, client_id, client_name, client_uri, redirect_uri,
		challenge, resource, scope, workspaces, expires_at)
		SELECT x'05', id, 'one', '', '', '', '', '', '', '', '[]', 5 FROM users`)
	storetest.Database{Dir: dir}.ComputeChecksums(t)
	expectText(t, run(exitOK, "backup", file), "Wrote "+file+": 0 memories, 1 workspace, 1 user, schema ")
	return dir, file
}

// countLinks counts the links of mails, the authorization codes, the grants and their tokens.
func countLinks(t *testing.T, dir string) (n int) {
	t.Helper()
	db, err := sql.Open(sqlite.SQLName, "file:"+filepath.Join(dir, "loci.db"))
	if err == nil {
		err = db.QueryRow(`SELECT (SELECT count(*) FROM tokens) + (SELECT count(*) FROM oauth_codes)
			+ (SELECT count(*) FROM grants) + (SELECT count(*) FROM grant_tokens)`).Scan(&n)
	}
	testenv.NoError(t, errors.Join(err, db.Close()))
	return n
}

func TestAdminPrintsResetLinkAndTriesMail(t *testing.T) {
	t.Parallel()
	_, run := newAdmin(t)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitOK, `"resetUrl":"https://loci.example.org/reset?token=`, []string{"user", "reset", "--email",
			"ADA@example.org", "--public-url", "https://loci.example.org", "--json"}},
		{exitOK, "http://127.0.0.1:7007/reset?token=", []string{"user", "reset", "--email", "ada@example.org"}},
		{exitOK, "set LOCI_PUBLIC_URL", []string{"user", "reset", "--email", "ada@example.org"}},
		{exitFailure, "nobody@example.org", []string{"user", "reset", "--email", "nobody@example.org"}},
		{exitFailure, "LOCI_SMTP_URL is not set", []string{"mail", "test", "--to", "ada@example.org"}},
		{exitFailure, "is no e-mail address", []string{"mail", "test", "--to", "ada"}},
		{exitUsage, "--to is required", []string{"mail", "test"}},
	} {
		expectText(t, run(c.code, c.args...), c.want)
	}
}

func execSQL(t *testing.T, dir, q string) {
	t.Helper()
	storetest.Database{Dir: dir}.Write(t, q)
}

// runVerify runs loci admin backup verify, which needs no data folder.
func runVerify(t *testing.T, want int, file string, in io.Reader) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := &program{Console: console.Console{In: in, Out: &out, Err: &errs, Environ: []string{"HOME=" + t.TempDir()}},
		deps: defaultDeps}
	testenv.Equal(t, p.run(t.Context(), []string{"admin", "backup", "verify", file}), want, &out, &errs)
	return out.String() + errs.String()
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries := testenv.Must(os.ReadDir(dir))(t)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestBackupIsRestored(t *testing.T) {
	t.Parallel()
	dir, file := newBackup(t)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	testenv.EqualSlices(t, names(t, filepath.Dir(file)), []string{"loci.tar"})
	expectText(t, runVerify(t, exitOK, file, nil), "is whole: 0 memories")
	to := filepath.Join(t.TempDir(), "new")
	run := adminRunner(t, to)
	text := run(exitOK, "backup", "restore", file)
	if !strings.Contains(text, "1 sign-in and 1 grant of a program ended: ") ||
		!strings.Contains(text, "ada@example.org  laptop") ||
		strings.Contains(text, "revoked\n") {
		t.Error(text)
	}
	testenv.EqualSlices(t, names(t, to), []string{"loci.db", "serve.lock"})
	if info, err := os.Stat(filepath.Join(to, "loci.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	run(exitOK, "check")
	for folder, want := range map[string]int{dir: 4, to: 0} {
		testenv.Equal(t, countLinks(t, folder), want, folder)
	}
	expectText(t, run(exitFailure, "backup", "restore", file), "is not empty, it has loci.")
	expectText(t, adminRunner(t, dir)(exitOK, "backup", filepath.Join(t.TempDir(), "b.tar"), "--json"),
		`"counts":{"api_keys":2,`, `"sha256":"`)
}

func TestBackupOverwritesOnlyWithForce(t *testing.T) {
	t.Parallel()
	dir, file := newBackup(t)
	run := adminRunner(t, dir)
	expectText(t, run(exitFailure, "backup", file), "exists already")
	run(exitOK, "backup", file, "--force")
	runVerify(t, exitOK, file, nil)
	for _, own := range []string{"loci.db", "loci.db.lock", "loci.created"} {
		expectText(t, run(exitFailure, "backup", filepath.Join(dir, own), "--force"), "belongs to the database")
	}
	expectText(t, run(exitFailure, "backup", dir, "--force"), "is not a regular file")
	run(exitOK, "check")
}

// An interrupted backup leaves the old file, and nothing beside it.
func TestBackupKeepsOldFileWhenInterrupted(t *testing.T) {
	t.Parallel()
	dir, file := newBackup(t)
	before := testenv.Must(os.ReadFile(file))(t)
	killed := filepath.Join(filepath.Dir(file), ".loci.tar.1.partial") // of a killed run
	testenv.NoError(t, os.Mkdir(killed, 0o700))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var errs bytes.Buffer
	p := &program{Console: console.Console{In: strings.NewReader(""), Out: io.Discard, Err: &errs,
		Environ: []string{"HOME=" + dir}},
		deps: defaultDeps}
	testenv.Equal(t, p.run(ctx, []string{"admin", "backup", file, "--force", "--data", dir}), exitInterrupted, &errs)
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the backup is another one: %v", err)
	}
	testenv.EqualSlices(t, names(t, filepath.Dir(file)), []string{"loci.tar"})
}

func TestBackupWritesToPipe(t *testing.T) {
	t.Parallel()
	dir, _ := newBackup(t)
	var out, errs bytes.Buffer
	p := &program{Console: console.Console{In: strings.NewReader(""), Out: &out, Err: &errs,
		Environ: []string{"HOME=" + dir}}, deps: defaultDeps}
	if code := p.run(context.Background(), []string{"admin", "backup", "-", "--data", dir}); code != exitOK ||
		!strings.Contains(errs.String(), "Wrote -") {
		t.Errorf("ended with %d: %s", code, &errs)
	}
	runVerify(t, exitOK, "-", &out)
	p.Out = &fullDisk{}
	testenv.Equal(t, p.run(t.Context(), []string{"admin", "backup", "-", "--data", dir}), exitFailure, &errs)
}

// A fullDisk rejects every write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestRestoreRejectsDamagedBackup(t *testing.T) {
	t.Parallel()
	_, file := newBackup(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	schema, counts := bytes.Index(whole, []byte(`"schema": `)), bytes.Index(whole, []byte(`"counts"`))
	newer := slices.Clone(whole)
	copy(newer[schema:], fmt.Sprintf("%-*s", counts-schema, `"schema": 999,`))
	extra := func() []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		testenv.NoError(t, w.WriteHeader(&tar.Header{Name: "../loci.db-wal", Size: 1, Mode: 0o600}))
		_ = testenv.Must(w.Write([]byte("x")))(t)
		testenv.NoError(t, w.Close())
		// without the end of the archive
		return append(slices.Clone(whole[:len(whole)-1024]), b.Bytes()...)
	}
	users := bytes.Index(whole, []byte(`"users": `)) + len(`"users": `)
	for name, c := range map[string]struct {
		bytes []byte
		says  string
	}{
		"cut off":      {whole[:len(whole)/2], "cut off"},
		"a bit":        {flipByte(whole, len(whole)-1024-5000), "has the SHA-256"},
		"nothing":      {nil, "no backup of Loci"},
		"a text":       {[]byte(strings.Repeat("text", 1000)), "no backup of Loci"},
		"newer schema": {newer, "use a newer loci"},
		"a count":      {flipByte(whole, users), "its manifest describes"},
		"another file": {extra(), "more files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectRejected(t, c.bytes, c.says)
		})
	}
	stale := t.TempDir() // SQLite would apply the log of another database to the restored one
	testenv.NoError(t, os.WriteFile(filepath.Join(stale, "loci.db-wal"), []byte("x"), 0o600))
	expectText(t, adminRunner(t, stale)(exitFailure, "backup", "restore", file), "it has loci.db-wal")
}

// A backup of an earlier schema, in which rows have no checksums, is verified and restored.
func TestBackupOfEarlierSchemaIsRestored(t *testing.T) {
	t.Parallel()
	dir, file, to := t.TempDir(), filepath.Join(t.TempDir(), "loci.tar"), filepath.Join(t.TempDir(), "new")
	storetest.Database{Dir: dir}.Load(t, "../store/testdata/schema/schema-3")
	adminRunner(t, dir)(exitOK, "backup", file)
	expectText(t, runVerify(t, exitOK, file, nil), "schema 3", "no checksums for the rows of agents, ",
		"these were not checked")
	expectText(t, adminRunner(t, to)(exitOK, "backup", "restore", file), "schema 3",
		"copy loci.toml of the former data folder to "+to)
	adminRunner(t, to)(exitOK, "migrate")
}

// A backup of a damaged database fails, and the last good one stays the last. Damaged rows are in it, and its
// verification names them.
func TestBackupOfDamagedDatabaseFails(t *testing.T) {
	t.Parallel()
	dir, file := newBackup(t)
	run := adminRunner(t, dir)
	at := testenv.Must(backup.Last(dir))(t)
	storetest.Database{Dir: dir}.Exec(t, `UPDATE users SET name = 'Somebody'`)
	damaged := filepath.Join(t.TempDir(), "loci.tar")
	run(exitOK, "backup", damaged)
	expectText(t, runVerify(t, exitOK, file, nil), "is whole")
	expectText(t, runVerify(t, exitFailure, damaged, nil), "1 rows do not match", "of users", "an earlier backup")

	testenv.NoError(t, os.Chtimes(filepath.Join(dir, backup.LastFile), at, at))
	execSQL(t, dir, `PRAGMA wal_checkpoint(TRUNCATE)`)
	path := filepath.Join(dir, sqlite.FileName)
	root := testenv.Must(strconv.Atoi(storetest.Database{Dir: dir}.Query(t,
		`SELECT rootpage FROM sqlite_schema WHERE name = 'sign_ins'`)[0]))(t)
	b := testenv.Must(os.ReadFile(path))(t)
	page := b[(root-1)*4096 : root*4096]
	binary.BigEndian.PutUint16(page[3:], 0) // a leaf without rows: a copy of it is a whole database
	testenv.NoError(t, os.WriteFile(path, b, 0o600))
	lost := filepath.Join(t.TempDir(), "loci.tar")
	expectText(t, run(exitFailure, "backup", lost), "the database is damaged", "loci admin check --repair")
	if _, err := os.Stat(lost); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a backup: %v", err)
	}
	if last := testenv.Must(backup.Last(dir))(t); !last.Equal(at) {
		t.Errorf("the last backup was at %v, not %v", last, at)
	}
}

func flipByte(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 1
	return b
}

func TestBackupNamesPgDumpForPostgreSQL(t *testing.T) {
	t.Parallel()
	run := adminRunner(t, t.TempDir())
	word := "tuna" + "4you" // no source holds a credential
	db := "postgres://ann:" + word + "@db.example.org/loci?sslmode=require&pool_max_conns=4&search_path=memory"
	text := run(exitFailure, "backup", "loci.dump", "--db", db)
	if !strings.Contains(text,
		"pg_dump --format=custom --no-owner --schema='memory' --file='loci.dump' "+
			"'postgres://ann@db.example.org/loci?sslmode=require'") ||
		strings.Contains(text, word) {
		t.Error(text)
	}
	file := filepath.Join(t.TempDir(), "loci.dump")
	testenv.NoError(t, os.WriteFile(file, nil, 0o600))
	text = run(exitFailure, "backup", "restore", file, "--db", db)
	if !strings.Contains(text,
		"pg_restore --no-owner --exit-on-error --single-transaction "+
			"--dbname='postgres://ann@db.example.org/loci?sslmode=require' '"+file+
			"'") {
		t.Error(text)
	}
	_, archive := newBackup(t)
	text = run(exitFailure, "backup", "restore", archive, "--db", db)
	if !strings.Contains(text, archive+" is a backup of SQLite") || strings.Contains(text, "pg_restore") {
		t.Error(text)
	}
}

// expectRejected fails unless verify and restore refuse an archive with a reason, and leave nothing of it.
func expectRejected(t *testing.T, archive []byte, says string) {
	t.Helper()
	invalid, to := filepath.Join(t.TempDir(), "bad.tar"), filepath.Join(t.TempDir(), "new")
	testenv.NoError(t, os.WriteFile(invalid, archive, 0o600))
	expectText(t, runVerify(t, exitFailure, invalid, nil), says)
	expectText(t, adminRunner(t, to)(exitFailure, "backup", "restore", invalid), says)
	testenv.EqualSlices(t, names(t, to), []string{"serve.lock"})
}

// TestMissingDatabaseErrorNamesDatabaseOfDevice names the folder of the local database beside that of a server.
func TestMissingDatabaseErrorNamesDatabaseOfDevice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	adminRunner(t, filepath.Join(dir, "local"))(exitOK, "user", "create", "--email", "ada@example.org")
	expectText(t, adminRunner(t, filepath.Join(dir, "server"))(exitFailure, "backup", filepath.Join(dir, "x.tar")),
		"there is no database of Loci in "+filepath.Join(dir, "server"), "of the database on this device is "+
			filepath.Join(dir, "local"))
}
