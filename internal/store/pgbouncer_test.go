package store_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// pgBouncerSettings refuse session parameters, and have fewer connections than the server's pool.
const pgBouncerSettings = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
pool_mode = transaction
default_pool_size = 3
auth_type = trust
auth_file = %s
`

// startPgBouncer starts a PgBouncer before the server of a database, and returns the address of the database behind it.
func startPgBouncer(t *testing.T, d storetest.Database) storetest.Database {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !isFile(program) {
			testenv.Absent(t, "pgbouncer", "scripts/setup installs it")
		}
	}
	u := testenv.Must(url.Parse(d.Address))(t)
	listen := testenv.Must(testenv.FreeAddress())(t)
	_, port, err := net.SplitHostPort(listen)
	testenv.NoError(t, err)
	dir := testenv.Must(os.MkdirTemp("", "loci-pgbouncer"))(t) // not t.TempDir, which only root may enter
	t.Cleanup(func() { os.RemoveAll(dir) })
	testenv.NoError(t, os.Chmod(dir, 0o755))
	users, settings := filepath.Join(dir, "users"), filepath.Join(dir, "settings")
	testenv.NoError(t, os.WriteFile(users, fmt.Appendf(nil, "%q \"\"\n", u.User.Username()), 0o644))
	testenv.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, pgBouncerSettings, u.Hostname(), u.Port(), port, users),
		0o644))
	args := []string{settings}
	if os.Getuid() == 0 { // which it refuses
		args = []string{"-u", "nobody", settings}
	}
	c := exec.Command(program, args...)
	testenv.NoError(t, c.Start())
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	u.Host = listen
	waittest.Until(t, func() bool {
		c, err := net.Dial("tcp", listen)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return storetest.Database{Engine: d.Engine, Address: u.String()}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// TestPgBouncerServes upgrades a database with short timeouts, and uses another one, through PgBouncer in transaction
// mode.
func TestPgBouncerServes(t *testing.T) {
	t.Parallel()
	upgraded := storetest.NewPostgresDatabase(t)
	setShortTimeouts(t, upgraded)
	upgradeDespiteLock(t, withoutTimeouts(upgraded), startPgBouncer(t, upgraded),
		`LOCK TABLE memories IN ACCESS SHARE MODE`)

	direct := storetest.NewPostgresDatabase(t)
	s := startPgBouncer(t, direct).Open(t, store.Options{})
	ann := user(t, s, "ann")
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			if _, err := tryAdd(s, ann, "", fmt.Sprint("a zebra crosses street ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if f := searchKeywords(t, s, ann, "zebra street", loci.MemoryFilter{}); len(f.Hits) == 0 {
		t.Error("found nothing")
	}
	testenv.Equal(t, direct.Count(t, "memories"), "24")
}
