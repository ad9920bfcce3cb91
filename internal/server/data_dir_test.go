package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

func TestDataDirIsMadePrivateWhenOnlyLociFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string
		mode  os.FileMode
		want  os.FileMode
	}{
		"an empty folder": {mode: 0o755, want: 0o700},
		"a database": {files: []string{"loci.db", "loci.db-wal", "loci.toml", "serve.lock"},
			mode: 0o755 | os.ModeSetgid, want: 0o700 | os.ModeSetgid},
		"for the group alone":     {mode: 0o750, want: 0o700},
		"files of others":         {files: []string{"loci.db", "notes.txt"}, mode: 0o755, want: 0o755},
		"a sticky folder for all": {files: []string{"else"}, mode: 0o777 | os.ModeSticky, want: 0o777 | os.ModeSticky},
		"private already":         {files: []string{"notes.txt"}, mode: 0o700, want: 0o700},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range c.files {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		warning, err := ensurePrivateDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode() &^ os.ModeDir; got != c.want {
			t.Errorf("%s: mode %v, want %v", name, got, c.want)
		}
		if open := c.want.Perm()&0o077 != 0; open != (warning != "") || open &&
			!strings.Contains(warning, "chmod 700 "+dir) {
			t.Errorf("%s: warning %q", name, warning)
		}
	}
}

// A restarted server restricts the folder again, whatever the first one left there.
func TestServeRestrictsItsOwnDataDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		_, _, log, stop := start(t, map[string]string{"data": dir})
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v: %s", info.Mode(), err, log)
		}
	}
}

// A restore that was cut off must not become a new, open server, nor an empty database of the operator.
func TestServeRefusesPartialRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _, err := Load(map[string]string{"data": dir, "listen": "127.0.0.1:0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".restore.1.partial"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), s, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), ".restore.1") {
		t.Errorf("told %v", err)
	}
	if _, err := OpenAdmin(t.Context(), s); err == nil || !strings.Contains(err.Error(), ".restore.1") {
		t.Errorf("told %v", err)
	}
}

func TestServeWarnsOfSharedDataDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	_, out, log, _ := start(t, map[string]string{"data": dir})
	if !strings.Contains(out.String(), "Warning: other users") || !strings.Contains(log.String(), "chmod 700") {
		t.Errorf("console %s\nlog %s", out, log)
	}
}

func TestDatabaseMadeAnewIsNoticed(t *testing.T) {
	t.Parallel()
	d, dir, metrics := storetest.NewPostgresDatabase(t), t.TempDir(), freeAddress(t)
	flags := func() map[string]string {
		return map[string]string{"data": dir, "db": d.Address, "listen": "127.0.0.1:0", "metrics-listen": metrics}
	}
	marker := filepath.Join(dir, backup.IdentityFile)
	url, _, _, stop := start(t, flags())
	if info, err := os.Stat(marker); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	waittest.Until(t, func() bool { n, _, _ := answers(t, "http://"+metrics+"/ready"); return n == 200 })
	key := makeKey(t, flags())
	d.MakeAnew(t)
	waittest.Until(t, func() bool {
		n, _, body := answers(t, "http://"+metrics+"/ready")
		return n == 503 && strings.Contains(body, "it is empty (without the metadata of Loci), and not the database")
	})
	req := testenv.Must(http.NewRequestWithContext(t.Context(), "GET", url+"/v1/memories", nil))(t)
	req.Header.Set("Authorization", "Bearer "+key)
	res := testenv.Must(testenv.Client.Do(req))(t)
	if res.Body.Close(); res.StatusCode != 503 {
		t.Errorf("a call is %d", res.StatusCode)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	s, _, err := Load(flags(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), s, io.Discard, io.Discard); !loci.Is(err, loci.CodeConflict) ||
		!strings.Contains(err.Error(), "delete "+marker) {
		t.Errorf("a start is told %v", err)
	}
	if _, err := OpenAdmin(t.Context(), s); !loci.Is(err, loci.CodeConflict) {
		t.Errorf("an operator is told %v", err)
	}
	if has, err := postgres.HasTables(t.Context(), d.Address); err != nil || has {
		t.Errorf("the refused database has tables: %t, %v", has, err)
	}
	testenv.NoError(t, os.Remove(marker))
	start(t, flags())
}

// makeKey returns the key of a new user, beside a server with these settings.
func makeKey(t *testing.T, flags map[string]string) string {
	t.Helper()
	s, _, err := Load(flags, nil)
	testenv.NoError(t, err)
	a := testenv.Must(OpenAdmin(t.Context(), s))(t)
	defer a.Close()
	testenv.Must(a.CreateUser(t.Context(), "ada@example.org", "", ""))(t)
	return testenv.Must(a.CreateKey(t.Context(), "ada@example.org", ""))(t).APIKey
}

func TestServeStartsWithoutMarkerOfItsDatabase(t *testing.T) {
	t.Parallel()
	d, dir := storetest.NewPostgresDatabase(t), t.TempDir()
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, backup.IdentityFile), 0o700)) // cannot be read
	s, _, err := Load(map[string]string{"data": dir, "db": d.Address, "listen": "127.0.0.1:0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), s, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), backup.IdentityFile) {
		t.Errorf("a marker that cannot be read: %v", err)
	}
	blocked := filepath.Join(dir, "link")
	testenv.NoError(t, os.Symlink(filepath.Join(dir, "absent"), blocked))
	_, _, log, _ := start(t, map[string]string{"data": blocked, "db": d.Address})
	if !strings.Contains(log.String(), "is not noticed") {
		t.Errorf("no warning of a marker that cannot be written: %s", log)
	}
}

func TestXDGDirFallsBackToUserDatabase(t *testing.T) {
	t.Parallel()
	listed := func() (*user.User, error) { return &user.User{HomeDir: "/home/ann"}, nil }
	homeless := func() (*user.User, error) { return &user.User{}, nil }
	unknown := func() (*user.User, error) { return nil, errors.New("nobody") }
	for _, c := range []struct {
		variable, home string
		current        func() (*user.User, error)
		want           string
	}{
		{"/data", "/root", listed, "/data"},
		{"data", "/root", listed, "/root/share"},
		{"", "", listed, "/home/ann/share"},
		{"", "here", listed, "/home/ann/share"},
		{"", "", homeless, ""},
		{"here", "", unknown, ""},
		{"/data", "", unknown, "/data"},
	} {
		env := func(name string) string { return map[string]string{"XDG": c.variable, "HOME": c.home}[name] }
		if got := xdgDir(env, "XDG", "share", c.current); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestLoadRejectsMissingDataDir(t *testing.T) {
	t.Parallel()
	var s Settings
	if err := s.validate(); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Error(err)
	}
	s.DB = "postgres://ann@localhost/loci"
	if err := s.validate(); err == nil || !strings.Contains(err.Error(), "--blobs") {
		t.Error(err)
	}
	s.Blobs, s.environ = "s3://bucket", map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
	if err := s.validate(); err != nil {
		t.Error(err)
	}
}
