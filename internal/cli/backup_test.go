package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store"
)

// backedUp makes a database with a user and two keys, and a backup of it.
func backedUp(t *testing.T) (dir, file string) {
	t.Helper()
	dir, file = t.TempDir(), filepath.Join(t.TempDir(), "loci.tar")
	run := operate(t, dir)
	run(done, "user", "create", "--email", "ada@example.org")
	run(done, "key", "create", "--email", "ada@example.org", "--name", "laptop")
	run(done, "key", "create", "--email", "ada@example.org", "--name", "revoked")
	alter(t, dir, `UPDATE api_keys SET revoked_at = 5 WHERE name = 'revoked'`)
	alter(t, dir,
		`INSERT INTO signins (id, user_id, hash, created_at, used_at) SELECT 'one', id, x'01', 5, 5 FROM users`)
	if text := run(done, "backup", file); !strings.Contains(text,
		"Wrote "+file+": 0 memories, 1 workspace, 1 user, schema ") {
		t.Error(text)
	}
	return dir, file
}

func alter(t *testing.T, dir, q string) {
	t.Helper()
	db, err := sql.Open(store.SQLDriver, "file:"+filepath.Join(dir, "loci.db"))
	if err == nil {
		_, err = db.Exec(q)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// verify runs loci admin backup verify, which works in no folder.
func verify(t *testing.T, want int, file string, in io.Reader) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := &program{in: in, out: &out, err: &errs, environ: []string{"HOME=" + t.TempDir()}, parts: wired}
	if code := p.run(context.Background(), []string{"admin", "backup", "verify", file}); code != want {
		t.Errorf("verify ended with %d, not %d: %s%s", code, want, &out, &errs)
	}
	return out.String() + errs.String()
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestABackupIsRestored(t *testing.T) {
	t.Parallel()
	dir, file := backedUp(t)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if list := names(t, filepath.Dir(file)); !slices.Equal(list, []string{"loci.tar"}) {
		t.Errorf("beside the backup there are %q", list)
	}
	if text := verify(t, done, file, nil); !strings.Contains(text, "is whole: 0 memories") {
		t.Error(text)
	}
	to := filepath.Join(t.TempDir(), "new")
	run := operate(t, to)
	text := run(done, "backup", "restore", file)
	if !strings.Contains(text, "1 sign-in ended") || !strings.Contains(text, "ada@example.org  laptop") ||
		strings.Contains(text, "revoked\n") {
		t.Error(text)
	}
	if list := names(t, to); !slices.Equal(list, []string{"loci.db", "serve.lock"}) {
		t.Errorf("the folder has %q", list)
	}
	if info, err := os.Stat(filepath.Join(to, "loci.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	run(done, "check")
	if text := run(refused, "backup", "restore", file); !strings.Contains(text, "is not empty, it has loci.") {
		t.Error(text)
	}
	if text := operate(t, dir)(done, "backup", filepath.Join(t.TempDir(), "b.tar"), "--json"); !strings.Contains(text,
		`"counts":{"api_keys":2,`) || !strings.Contains(text, `"sha256":"`) {
		t.Error(text)
	}
}

func TestABackupReplacesNothingByItself(t *testing.T) {
	t.Parallel()
	dir, file := backedUp(t)
	run := operate(t, dir)
	if text := run(refused, "backup", file); !strings.Contains(text, "is there already") {
		t.Error(text)
	}
	run(done, "backup", file, "--force")
	verify(t, done, file, nil)
	for _, own := range []string{"loci.db", "loci.db.lock", "loci.created"} {
		if text := run(refused, "backup", filepath.Join(dir, own), "--force"); !strings.Contains(text,
			"belongs to the database") {
			t.Error(text)
		}
	}
	if text := run(refused, "backup", dir, "--force"); !strings.Contains(text, "is no file") {
		t.Error(text)
	}
	run(done, "check")
}

// A backup that is cut off leaves the old file, and nothing beside it.
func TestABackupThatIsInterruptedLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	dir, file := backedUp(t)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(filepath.Dir(file), ".loci.tar.1.partial") // of a run that was killed
	if err := os.Mkdir(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var errs bytes.Buffer
	p := &program{in: strings.NewReader(""), out: io.Discard, err: &errs, environ: []string{"HOME=" + dir},
		parts: wired}
	if code := p.run(ctx, []string{"admin", "backup", file, "--force", "--data", dir}); code != refused {
		t.Errorf("ended with %d: %s", code, &errs)
	}
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the backup is another one: %v", err)
	}
	if list := names(t, filepath.Dir(file)); !slices.Equal(list, []string{"loci.tar"}) {
		t.Errorf("there are %q", list)
	}
}

func TestABackupGoesThroughAPipe(t *testing.T) {
	t.Parallel()
	dir, _ := backedUp(t)
	var out, errs bytes.Buffer
	p := &program{in: strings.NewReader(""), out: &out, err: &errs, environ: []string{"HOME=" + dir}, parts: wired}
	if code := p.run(context.Background(), []string{"admin", "backup", "-", "--data", dir}); code != done ||
		!strings.Contains(errs.String(), "Wrote -") {
		t.Errorf("ended with %d: %s", code, &errs)
	}
	verify(t, done, "-", &out)
	p.out = &full{}
	if code := p.run(context.Background(), []string{"admin", "backup", "-", "--data", dir}); code != refused {
		t.Errorf("a full disk ended with %d: %s", code, &errs)
	}
}

// A full disk takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestADamagedBackupIsNotRestored(t *testing.T) {
	t.Parallel()
	_, file := backedUp(t)
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
		err := errors.Join(w.WriteHeader(&tar.Header{Name: "../loci.db-wal", Size: 1, Mode: 0o600}), func() error {
			_, err := w.Write([]byte("x"))
			return err
		}(), w.Close())
		if err != nil {
			t.Fatal(err)
		}
		return append(slices.Clone(whole[:len(whole)-1024]), b.Bytes()...) // without the end of the archive
	}
	users := bytes.Index(whole, []byte(`"users": `)) + len(`"users": `)
	for name, c := range map[string]struct {
		bytes []byte
		says  string
	}{
		"cut off":      {whole[:len(whole)/2], "cut off"},
		"a bit":        {flipped(whole, len(whole)-1024-5000), "has the SHA-256"},
		"nothing":      {nil, "no backup of Loci"},
		"a text":       {[]byte(strings.Repeat("text", 1000)), "no backup of Loci"},
		"newer schema": {newer, "use a newer loci"},
		"a count":      {flipped(whole, users), "its manifest describes"},
		"another file": {extra(), "more files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusesArchive(t, c.bytes, c.says)
		})
	}
	stale := t.TempDir() // the log of another database would be played into the restored one
	if err := os.WriteFile(filepath.Join(stale, "loci.db-wal"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := operate(t, stale)(refused, "backup", "restore", file); !strings.Contains(text, "it has loci.db-wal") {
		t.Error(text)
	}
}

func flipped(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 1
	return b
}

func TestPostgreSQLIsBackedUpWithItsOwnTools(t *testing.T) {
	t.Parallel()
	run := operate(t, t.TempDir())
	word := "tuna" + "4you" // no source holds a credential
	db := "postgres://ann:" + word + "@db.example.org/loci?sslmode=require&pool_max_conns=4&search_path=memory"
	text := run(refused, "backup", "loci.dump", "--db", db)
	if !strings.Contains(text,
		"pg_dump --format=custom --no-owner --schema='memory' --file='loci.dump' 'postgres://ann@db.example.org/loci?sslmode=require'") ||
		strings.Contains(text, word) {
		t.Error(text)
	}
	file := filepath.Join(t.TempDir(), "loci.dump")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text = run(refused, "backup", "restore", file, "--db", db)
	if !strings.Contains(text,
		"pg_restore --no-owner --exit-on-error --single-transaction --dbname='postgres://ann@db.example.org/loci?sslmode=require' '"+file+
			"'") {
		t.Error(text)
	}
}

// refusesArchive fails unless verify and restore refuse an archive with a reason, and nothing of it is left.
func refusesArchive(t *testing.T, archive []byte, says string) {
	t.Helper()
	bad, to := filepath.Join(t.TempDir(), "bad.tar"), filepath.Join(t.TempDir(), "new")
	if err := os.WriteFile(bad, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	if text := verify(t, refused, bad, nil); !strings.Contains(text, says) {
		t.Error(text)
	}
	if text := operate(t, to)(refused, "backup", "restore", bad); !strings.Contains(text, says) {
		t.Error(text)
	}
	if list := names(t, to); !slices.Equal(list, []string{"serve.lock"}) {
		t.Errorf("the folder has %q", list)
	}
}
