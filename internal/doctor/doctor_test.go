package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/mail/mailtest"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A patient is a server with all that it depends on. It is healthy until a test breaks a part of it.
type patient struct {
	dir     string
	flags   map[string]string
	environ []string
	free    int64 // bytes on its disk
	mailbox *mailtest.Mailbox
	site    *httptest.Server // listener, monitoring and public address

	health, ready string
	date          time.Time // of responses; the zero time is now
	maxFiles      int
	openFiles     int
	ignored       int // requests of a proxy
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	p := &patient{dir: storetest.NewDir(t), free: 10 << 30, mailbox: &mailtest.Mailbox{},
		health: `{"ok":true,"service":"loci","version":"1.0"}`, ready: `{"ok":true}`, maxFiles: 65536, openFiles: 20}
	testenv.NoError(t, os.Chmod(p.dir, 0o700))
	p.noteBackup(t, 0)
	p.mailbox.Start(t)
	p.site = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.site.Close)
	address := strings.TrimPrefix(p.site.URL, "http://")
	p.flags = map[string]string{"data": p.dir, "listen": address, "metrics-listen": address, "public-url": p.site.URL}
	p.environ = []string{"LOCI_SMTP_URL=" + p.mailbox.Address()}
	return p
}

func (p *patient) serve(w http.ResponseWriter, r *http.Request) {
	if !p.date.IsZero() {
		w.Header().Set("Date", p.date.UTC().Format(http.TimeFormat))
	}
	switch r.URL.Path {
	case "/health":
		_, _ = io.WriteString(w, p.health)
	case "/ready":
		_, _ = io.WriteString(w, p.ready)
	case "/metrics":
		fmt.Fprintf(w, "# TYPE x gauge\nprocess_max_fds %d\nprocess_open_fds %d\nloci_ignored_proxies_total %d\n"+
			"loci_calls_total{op=\"x\"} 1\n", p.maxFiles, p.openFiles, p.ignored)
	}
}

// noteBackup notes a backup of an age.
func (p *patient) noteBackup(t *testing.T, age time.Duration) {
	t.Helper()
	at, file := time.Now().Add(-age), filepath.Join(p.dir, backup.LastFile)
	testenv.NoError(t, os.WriteFile(file, nil, 0o600))
	testenv.NoError(t, os.Chtimes(file, at, at))
}

func (p *patient) exec(t *testing.T, q string) { storetest.Database{Dir: p.dir}.Exec(t, q) }

func (p *patient) examine(t *testing.T) *Report {
	t.Helper()
	s, _, err := server.Load(p.flags, p.environ)
	testenv.NoError(t, err)
	return run(t.Context(), s, func(string) int64 { return p.free })
}

// findings returns the checks that are not ok.
func (r *Report) findings() (list []Check) {
	for _, c := range r.Checks {
		if c.State != OK {
			list = append(list, c)
		}
	}
	return list
}

func TestHealthyServerHasNoFinding(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	r := p.examine(t)
	if list := r.findings(); !r.OK || len(list) > 0 || len(r.Checks) != 14 ||
		strings.Contains(r.String(), "not tried") {
		t.Errorf("%+v", r)
	}
	if len(p.mailbox.Mails()) > 0 {
		t.Error("a mail was sent")
	}
	left := storetest.Database{Dir: p.dir}.Query(t, `SELECT name FROM metadata WHERE name LIKE 'try %'`)
	_ = filepath.WalkDir(filepath.Join(p.dir, "files"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, path)
		}
		return err
	})
	if len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

func TestEachFaultIsNamedWithItsCure(t *testing.T) {
	t.Parallel()
	write := func(name, text string, mode os.FileMode) func(t *testing.T, p *patient) {
		return func(t *testing.T, p *patient) {
			path := filepath.Join(p.dir, name)
			testenv.NoError(t, os.WriteFile(path, []byte(text), mode))
			testenv.NoError(t, os.Chmod(path, mode)) // independent of the umask
		}
	}
	change := func(f func(p *patient)) func(*testing.T, *patient) {
		return func(_ *testing.T, p *patient) { f(p) }
	}
	for name, c := range map[string]struct {
		fault func(t *testing.T, p *patient)
		check string
		state State
		says  string
		cure  string
	}{
		"no database": {func(t *testing.T, p *patient) {
			testenv.NoError(t, os.RemoveAll(filepath.Join(p.dir, sqlite.FileName)))
		}, "database", Fail, "there is no database of Loci in", "correct LOCI_DB and --data"},
		"damaged database": {write(sqlite.FileName, strings.Repeat("no database", 1000), 0o600),
			"database", Fail, "loci.db", "correct LOCI_DB and --data"},
		"newer schema": {func(t *testing.T, p *patient) { p.exec(t, `PRAGMA user_version = 99`) },
			"schema", Fail, "is 99, and this program knows", "use the newer loci"},
		"older schema": {func(t *testing.T, p *patient) { p.exec(t, `PRAGMA user_version = 1`) },
			"schema", Warn, "is 1, and this program needs", "loci admin migrate"},
		"lost table": {func(t *testing.T, p *patient) { p.exec(t, `DROP TABLE model_usage`) },
			"schema", Fail, "lacks tables of its schema: model_usage", "restore a backup"},
		"full disk": {change(func(p *patient) { p.free = 1 << 20 }), "disk", Fail, "1 MiB are free", "make room"},
		"disk that fills": {change(func(p *patient) { p.free = 100 << 20 }), "disk", Warn, "100 MiB are free",
			"make room"},
		"blocked file store": {write("files", "", 0o600), "files", Fail, "files", "let the server read and write"},
		"no backup": {func(t *testing.T, p *patient) {
			testenv.NoError(t, os.Remove(filepath.Join(p.dir, backup.LastFile)))
		}, "backup", Warn, "none is known", "loci admin backup"},
		"old backup": {func(t *testing.T, p *patient) { p.noteBackup(t, 73*time.Hour) },
			"backup", Warn, "3 days old", "loci admin backup"},
		"readable settings": {write("loci.toml", "embed-key = 'x'\nembed-url = 'http://127.0.0.1:1'\n", 0o644),
			"secrets", Warn, "can read embed-key in loci.toml", "chmod 600 "},
		"readable secret": {func(t *testing.T, p *patient) {
			write("smtp", p.mailbox.Address(), 0o644)(t, p)
			p.environ = []string{"LOCI_SMTP_URL_FILE=" + filepath.Join(p.dir, "smtp")}
		}, "secrets", Warn, "can read LOCI_SMTP_URL_FILE", "chmod 600 "},
		"open folder": {func(t *testing.T, p *patient) { testenv.NoError(t, os.Chmod(p.dir, 0o755)) },
			"secrets", Warn, "may enter the data folder", "chmod 700 "},
		"no server": {func(t *testing.T, p *patient) {
			p.flags["listen"] = testenv.Must(testenv.FreeAddress())(t)
		}, "server", Warn, "does not answer", "start it: loci serve"},
		"server that is not ready": {change(func(p *patient) {
			p.ready = `{"ok":false,"failed":[{"check":"database","cause":"connection refused"}]}`
		}), "server", Fail, "database: connection refused", "start the database"},
		"damage": {change(func(p *patient) {
			p.ready = `{"ok":true,"damage":[{"check":"index","cause":"a damaged keyword index"}]}`
		}), "server", Fail, "a damaged keyword index", "loci admin check --repair"},
		"stranger at the public address": {func(t *testing.T, p *patient) {
			stranger := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(stranger.Close)
			p.flags["public-url"] = stranger.URL
		}, "public-url", Fail, "does not answer as a Loci server does", "LOCI_PUBLIC_URL"},
		"wrong clock": {change(func(p *patient) { p.date = time.Now().Add(-10 * time.Minute) }),
			"clock", Fail, "differ by 10m", "NTP"},
		"slow clock": {change(func(p *patient) { p.date = time.Now().Add(30 * time.Second) }),
			"clock", Warn, "differ by", "NTP"},
		"mail server away": {func(t *testing.T, p *patient) { p.mailbox.Stop() }, "mail", Fail, "connect",
			"LOCI_SMTP_URL"},
		"mail server without sign-in": {change(func(p *patient) {
			p.environ = []string{"LOCI_SMTP_URL=" + strings.Replace(p.mailbox.Address(), "//", "//loci:tuna@", 1)}
		}), "mail", Fail, "mail: ", "user and password"},
		"few descriptors": {change(func(p *patient) { p.maxFiles = 20 }), "descriptors", Fail, "open files is 20",
			"LimitNOFILE"},
		"low limit of descriptors": {change(func(p *patient) { p.maxFiles = 512 }), "descriptors", Warn,
			"open files is 512", "LimitNOFILE"},
		"used descriptors": {change(func(p *patient) { p.openFiles = 65000 }), "descriptors", Fail,
			"65000 of 65536 are open", "LimitNOFILE"},
		"untrusted proxy": {change(func(p *patient) { p.ignored = 3 }), "proxies", Warn, "(requests: 3)",
			"LOCI_TRUSTED_PROXIES"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			c.fault(t, p)
			r := p.examine(t)
			list := r.findings()
			if len(list) != 1 || r.OK != (c.state != Fail) {
				t.Fatalf("found %+v in %s", list, r)
			}
			if got := list[0]; got.Name != c.check || got.State != c.state || !strings.Contains(got.Detail, c.says) ||
				!strings.Contains(got.Cure, c.cure) {
				t.Errorf("%+v", got)
			}
			all := string(testenv.Must(json.Marshal(r))(t)) + r.String()
			if strings.Contains(all, "tuna") {
				t.Errorf("it shows a secret: %s", all)
			}
		})
	}
}

func TestMarkerAndClockOfPostgresAreExamined(t *testing.T) {
	t.Parallel()
	d, p := storetest.NewPostgresDatabase(t), newPatient(t)
	p.flags["db"] = d.Address
	marker := filepath.Join(p.dir, backup.IdentityFile)
	s, _, err := server.Load(p.flags, p.environ)
	testenv.NoError(t, err)
	a := testenv.Must(server.OpenAdmin(t.Context(), s))(t)
	identity := a.Store.Identity()
	testenv.NoError(t, a.Close())
	for _, c := range []struct {
		marker string
		empty  bool
		says   string
		state  State
	}{
		{"", false, "there is no " + marker, Warn}, {identity, false, "", OK},
		{"another", false, "not the database that this server used before", Fail},
		{identity, true, "the database is empty", Fail},
	} {
		testenv.NoError(t, os.RemoveAll(marker))
		if c.marker != "" {
			testenv.NoError(t, os.WriteFile(marker, []byte(c.marker), 0o600))
		}
		if c.empty {
			d.MakeAnew(t)
		}
		r := p.examine(t)
		list := r.findings()
		switch {
		case c.state == OK:
			if len(list) > 0 || !strings.Contains(r.String(), "clock       ok: agrees") {
				t.Errorf("%s", r)
			}
		case len(list) != 1 || list[0].Name != "marker" || list[0].State != c.state ||
			!strings.Contains(list[0].Detail, c.says) || list[0].Cure == "":
			t.Errorf("%+v", list)
		}
		if !strings.HasPrefix(r.Target, "PostgreSQL at ") || strings.Contains(r.Target, "@") {
			t.Errorf("the target is %s", r.Target)
		}
	}
	p.flags["db"] = "postgres://loci:tuna@127.0.0.1:1/loci"
	if list := p.examine(t).findings(); len(list) != 1 || list[0].Name != "database" ||
		!strings.Contains(list[0].Cure, "start the database") || strings.Contains(list[0].Detail, "tuna") {
		t.Errorf("%+v", list)
	}
}
