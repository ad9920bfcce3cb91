package profile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oauthclient/oauthtest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// childPath is the variable that makes the test program a child, which prints a token of this login. It makes a file
// in the folder childBegun before, where that is set.
const (
	childPath  = "LOCI_TEST_LOGIN"
	childBegun = "LOCI_TEST_BEGUN"
)

func TestMain(m *testing.M) {
	path := os.Getenv(childPath)
	if path == "" {
		os.Exit(m.Run())
	}
	s := Store{Path: path}
	l, err := s.Load()
	if err != nil {
		panic(err)
	}
	if dir := os.Getenv(childBegun); dir != "" {
		if _, err := os.CreateTemp(dir, ""); err != nil {
			panic(err)
		}
	}
	token, err := s.Tokens(l).Token(context.Background(), os.Getenv("LOCI_TEST_REJECTED"))
	fmt.Print(token, err)
	os.Exit(0)
}

// child returns a process that prints a token.
func child(t *testing.T, s Store, rejected string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+s.Path, "LOCI_TEST_REJECTED="+rejected)
	return cmd
}

// signedIn returns a store whose login by browser has tokens of the server, which end after some time.
func signedIn(t *testing.T, server *oauthtest.Server, life time.Duration) (Store, *Login) {
	t.Helper()
	l := granted(server, life)
	s := newStore(t)
	if _, _, err := s.Save(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return s, &l
}

// granted returns a login by browser whose tokens the server made.
func granted(server *oauthtest.Server, life time.Duration) Login {
	l := byBrowser(server.URL, life)
	l.Client.ID, l.Tokens.Access, l.Tokens.Refresh = server.Grant()
	return l
}

const refreshes = "/oauth/token refresh_token"

func TestTokenIsRefreshedBeforeItsEndAndWhenRejected(t *testing.T) {
	t.Parallel()
	server := oauthtest.New(t)
	s, l := signedIn(t, server, margin+time.Minute)
	source := s.Tokens(l)
	first, err := source.Token(t.Context(), "")
	if err != nil || first != l.Tokens.Access || server.Count(refreshes) != 0 {
		t.Errorf("a live token: %q %v", first, err)
	}
	second, err := source.Token(t.Context(), first)
	if err != nil || second == first || server.Count(refreshes) != 1 {
		t.Errorf("a rejected token: %q %v", second, err)
	}
	if again, err := source.Token(t.Context(), first); err != nil || again != second || server.Count(refreshes) != 1 {
		t.Errorf("a token that was rejected before: %q %v", again, err)
	}
	ending, l := signedIn(t, server, margin-time.Second)
	if got, err := ending.Tokens(l).Token(t.Context(), ""); err != nil || got == l.Tokens.Access ||
		server.Count(refreshes) != 2 {
		t.Errorf("an ending token: %q %v", got, err)
	}
	stored, err := ending.Load()
	if err != nil || !server.Accepts(stored.Tokens.Access) || stored.Client.ID != l.Client.ID {
		t.Errorf("stored: %+v %v", stored, err)
	}
}

func TestTokenSourceFollowsTheLoginOfOtherProcesses(t *testing.T) {
	t.Parallel()
	server := oauthtest.New(t)
	s, l := signedIn(t, server, time.Hour)
	source := s.Tokens(l)
	next := granted(server, time.Hour)
	for _, step := range []struct {
		save    Login
		deletes bool
		want    string
		fails   loci.Code
	}{
		{save: next, want: next.Tokens.Access},
		{save: Login{URL: server.URL, Key: "k"}, want: "k"},
		{save: Login{URL: address, Key: "k"}, fails: loci.CodeMissingAPIKey},
		{deletes: true, fails: loci.CodeMissingAPIKey},
	} {
		var err error
		if step.deletes {
			_, err = s.Delete(t.Context(), nil)
		} else {
			_, _, err = s.Save(t.Context(), step.save)
		}
		if err != nil {
			t.Fatal(err)
		}
		rejected := source.own.Access
		if got, err := source.Token(t.Context(), rejected); got != step.want || (err != nil) != (step.fails != "") ||
			step.fails != "" && !loci.Is(err, step.fails) {
			t.Errorf("%+v: %q %v", step, got, err)
		}
	}
	testenv.Equal(t, server.Count(refreshes), 0)
}

func TestTenProcessesRefreshOnce(t *testing.T) {
	t.Parallel()
	server, begun := oauthtest.New(t), t.TempDir()
	got := make([]string, 10)
	server.Fail("/oauth/token", func(w http.ResponseWriter, r *http.Request) {
		waittest.Until(t, func() bool {
			files, err := os.ReadDir(begun)
			return err != nil || len(files) == len(got)
		})
		server.Serve(w, r)
	})
	s, l := signedIn(t, server, 0)
	var all sync.WaitGroup
	for i := range got {
		cmd := child(t, s, l.Tokens.Access)
		cmd.Env = append(cmd.Env, childBegun+"="+begun)
		all.Go(func() {
			out, err := cmd.CombinedOutput()
			if got[i] = string(out); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, token := range got {
		if token != got[0] || !server.Accepts(strings.TrimSuffix(token, "<nil>")) {
			t.Errorf("the processes got %q", got)
			break
		}
	}
	testenv.Equal(t, server.Count(refreshes), 1)
}

// TestKilledProcessLeavesTheLoginUsable kills a process after the server rotated its token.
func TestKilledProcessLeavesTheLoginUsable(t *testing.T) {
	t.Parallel()
	server := oauthtest.New(t)
	server.Repeats = true
	s, _ := signedIn(t, server, 0)
	var cmd *exec.Cmd
	started := make(chan struct{})
	server.Fail("/oauth/token", func(w http.ResponseWriter, r *http.Request) {
		<-started
		if server.Count(refreshes) == 1 {
			server.Serve(&lost{}, r)
			_ = cmd.Process.Kill()
			<-r.Context().Done()
			return
		}
		server.Serve(w, r)
	})
	cmd = child(t, s, "")
	testenv.NoError(t, cmd.Start())
	close(started)
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process was not killed")
	}
	out, err := child(t, s, "").CombinedOutput()
	if err != nil || !server.Accepts(strings.TrimSuffix(string(out), "<nil>")) || server.Count(refreshes) != 2 {
		t.Errorf("%s %v after %d requests", out, err, server.Count(refreshes))
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path), ".loci-*")); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
}

// lost is a response that nobody reads.
type lost struct{ header http.Header }

func (l *lost) Header() http.Header {
	if l.header == nil {
		l.header = http.Header{}
	}
	return l.header
}
func (*lost) Write(b []byte) (int, error) { return len(b), nil }
func (*lost) WriteHeader(int)             {}

func TestFailedRefreshKeepsTheLogin(t *testing.T) {
	t.Parallel()
	server := oauthtest.New(t)
	s, l := signedIn(t, server, 0)
	server.Fail("/oauth/token", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	if _, err := s.Tokens(l).Token(t.Context(), ""); !loci.Is(err, loci.CodeUnavailable) {
		t.Error(err)
	}
	server.Fail("/oauth/token", nil)
	if got, err := s.Tokens(l).Token(t.Context(), ""); err != nil || !server.Accepts(got) {
		t.Errorf("%q %v", got, err)
	}
	ended, l := signedIn(t, server, 0)
	server.EndGrants()
	if _, err := ended.Tokens(l).Token(t.Context(), ""); !loci.Is(err, loci.CodeInvalidKey) ||
		!strings.Contains(err.Error(), "sign in again: loci login "+server.URL) {
		t.Error(err)
	}
}

func TestGoroutinesOfProcessRefreshOnce(t *testing.T) {
	t.Parallel()
	server := oauthtest.New(t)
	s, l := signedIn(t, server, time.Hour)
	source, rejected := s.Tokens(l), l.Tokens.Access
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := source.Token(t.Context(), rejected); err != nil || !server.Accepts(got) || got == rejected {
				t.Errorf("%q %v", got, err)
			}
		})
	}
	all.Wait()
	if n := server.Count(refreshes); n != 1 || !source.ExpiresAt().After(time.Now()) {
		t.Errorf("%d refreshes, the token ends %v", n, source.ExpiresAt())
	}
}

// TestInterruptedRefreshOfSilentServerEnds leaves the login as it is.
func TestInterruptedRefreshOfSilentServerEnds(t *testing.T) {
	t.Parallel()
	server := oauthtest.New(t)
	s, l := signedIn(t, server, 0)
	asked := make(chan struct{}, 1)
	server.Fail("/oauth/token", func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	ctx, interrupt := context.WithCancel(t.Context())
	go func() { <-asked; interrupt() }()
	if _, err := s.Tokens(l).Token(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if stored, err := s.Load(); err != nil || stored.Tokens.Refresh != l.Tokens.Refresh {
		t.Errorf("%+v %v", stored, err)
	}
}

// TestInterruptedRefreshIsStored interrupts a command whose refresh has reached the server.
func TestInterruptedRefreshIsStored(t *testing.T) {
	t.Parallel()
	server := oauthtest.New(t)
	s, l := signedIn(t, server, 0)
	ctx, interrupt := context.WithCancel(t.Context())
	server.Fail("/oauth/token", func(w http.ResponseWriter, r *http.Request) {
		interrupt()
		time.Sleep(200 * time.Millisecond)
		server.Serve(w, r)
	})
	if _, err := s.Tokens(l).Token(ctx, ""); err != nil {
		t.Error(err)
	}
	if stored, err := s.Load(); err != nil || !server.Accepts(stored.Tokens.Access) {
		t.Errorf("%+v %v", stored, err)
	}
	if _, err := s.Tokens(l).Token(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted command waits: %v", err)
	}
}

func TestRefreshKeepsThePlaceOfTokens(t *testing.T) {
	t.Parallel()
	server := oauthtest.New(t)
	for _, locked := range []bool{true, false} {
		s, held := newStore(t), map[string]string{}
		s.Keyring = memoryKeyring(held, &locked)
		l := granted(server, 0)
		if _, _, err := s.Save(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		inFile := locked
		locked = false
		got, err := s.Tokens(&l).Token(t.Context(), "")
		stored, err2 := s.Load()
		if err != nil || err2 != nil || !server.Accepts(got) || stored.inKeyring() == inFile ||
			strings.Contains(held[server.URL], got) == inFile {
			t.Errorf("in the file %v: %q %v, %+v %v", inFile, got, errors.Join(err, err2), stored, held)
		}
	}
}

func TestReadOnlyLoginIsNotRefreshed(t *testing.T) {
	t.Parallel()
	server := oauthtest.New(t)
	s, l := signedIn(t, server, 0)
	testenv.NoError(t, errors.Join(os.Remove(s.Path+".lock"), os.Mkdir(s.Path+".lock", 0o700)))
	if _, err := s.Tokens(l).Token(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "locked") ||
		server.Count(refreshes) != 0 {
		t.Errorf("%v after %d refreshes", err, server.Count(refreshes))
	}
}

// A lateContext ends when the lock has been taken: its end is seen by Err alone.
type lateContext struct{ context.Context }

func (lateContext) Err() error { return context.Canceled }

func TestLockIsReleasedAfterEndOfContext(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if unlock, err := s.lock(lateContext{context.Background()}); err == nil {
		unlock()
	}
	unlock, err := s.lock(t.Context())
	if err != nil {
		t.Fatal("the lock is still held: ", err)
	}
	unlock()
}
