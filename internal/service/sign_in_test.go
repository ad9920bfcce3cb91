package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/op"
	hashing "github.com/loci-memory/loci/internal/password"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

const password = "correct horse battery"

// addUsers makes accounts that can sign in.
func addUsers(t *testing.T, w *World, emails ...loci.Email) {
	t.Helper()
	for _, e := range emails {
		testenv.Must(w.Service.AddUser(t.Context(), e, "", password))(t)
	}
}

// signIn tries to sign in from an address.
func signIn(t *testing.T, w *World, from string, e loci.Email, p loci.PasswordAttempt) error {
	t.Helper()
	_, err := op.Do(t.Context(), w.Host, &op.Call{Address: from}, service.AuthLogin, loci.Login{Email: e, Password: p})
	return err
}

func TestFailedSignInsAreLimited(t *testing.T) {
	t.Parallel()
	const limit = 3
	w := NewEmpty(t, OpenSQLite, Options{SignInLimit: limit})
	addUsers(t, w, "ada@example.com", "bea@example.com")
	expect := func(from string, e loci.Email, p loci.PasswordAttempt, code loci.Code) {
		t.Helper()
		err := signIn(t, w, from, e, p)
		if code == "" && err != nil || code != "" && !loci.Is(err, code) {
			t.Fatalf("%s from %s: %v, want %q", e, from, err, code)
		}
		if retry := loci.AsError(err).RetryAfter; code == loci.CodeRateLimited &&
			(retry <= 0 || retry > 15*time.Minute) {
			t.Errorf("wait %v", retry)
		}
	}
	for range 2 * limit {
		expect("192.0.2.1", "ada@example.com", password, "") // success does not count
	}
	for range limit - 1 {
		expect("192.0.2.1", "ADA@example.com", "wrong", loci.CodeInvalidKey)
	}
	expect("192.0.2.1", "ada@example.com", password, "")
	w.Clock.Advance(time.Minute)
	expect("192.0.2.1", "ada@example.com", "wrong", loci.CodeInvalidKey)
	expect("192.0.2.9", "ada@example.com", password, loci.CodeRateLimited) // the account
	expect("192.0.2.1", "bea@example.com", password, loci.CodeRateLimited) // the address
	expect("192.0.2.2", "bea@example.com", password, "")
	w.Clock.Advance(14 * time.Minute) // two of the three are too old to count
	expect("192.0.2.1", "ada@example.com", password, "")
	for range limit - 1 {
		expect("192.0.2.1", "ada@example.com", "wrong", loci.CodeInvalidKey)
	}
	expect("192.0.2.1", "ada@example.com", password, loci.CodeRateLimited)
	w.Clock.Advance(15 * time.Minute)
	expect("192.0.2.1", "ada@example.com", password, "")
}

func TestRefusedSignInsAreCountedByCause(t *testing.T) {
	t.Parallel()
	w := NewEmpty(t, OpenSQLite, Options{SignInLimit: 4})
	addUsers(t, w, "ada@example.com", "bea@example.com")
	testenv.Must(w.Service.AddUser(t.Context(), "key@example.com", "", ""))(t)
	testenv.Must(w.Service.SetDisabled(t.Context(), "bea@example.com", true))(t)
	var got []string
	w.Service.OnRefused = func(cause string) { got = append(got, cause) }
	for _, c := range []struct {
		email    loci.Email
		password loci.PasswordAttempt
		cause    string
	}{
		{"ada@example.com", password, ""}, {"ada@example.com", "wrong", "password"},
		{"key@example.com", "", "password"}, {"eve@example.com", password, "address"},
		{"bea@example.com", password, "disabled"}, {"eve@example.com", password, "limit"},
	} {
		got = nil
		if err := signIn(t, w, "192.0.2.1", c.email, c.password); (err == nil) != (c.cause == "") ||
			strings.Join(got, " ") != c.cause || c.cause != "" && !slices.Contains(service.SignInRefusals, c.cause) {
			t.Errorf("%s: %v, counted as %q, want %q", c.email, err, got, c.cause)
		}
	}
}

// Refused attempts under unknown names must not evict the failures of others, however many they are.
func TestSignInLimitCannotBeFlushed(t *testing.T) {
	t.Parallel()
	const limit = 2
	w := NewEmpty(t, OpenSQLite, Options{SignInLimit: limit})
	addUsers(t, w, "ada@example.com", "bea@example.com")
	for range limit {
		Expect(t, "signIn", signIn(t, w, "192.0.2.5", "ada@example.com", "wrong"), loci.CodeInvalidKey)
	}
	for i := range 100_001 {
		e := loci.Email(fmt.Sprintf("nobody%d@example.com", i))
		Expect(t, fmt.Sprint("attempt ", i, " from the limited address"), signIn(t, w, "192.0.2.5", e, "wrong"),
			loci.CodeRateLimited)
	}
	testenv.NoError(t, signIn(t, w, "192.0.2.7", "bea@example.com", password))
	Expect(t, "the account was let go", signIn(t, w, "192.0.2.8", "ada@example.com", password), loci.CodeRateLimited)
	Expect(t, "the address was let go", signIn(t, w, "192.0.2.5", "bea@example.com", password), loci.CodeRateLimited)
}

func TestStrangersCannotLockOutOwnerAtKnownAddress(t *testing.T) {
	t.Parallel()
	const limit, home = 3, "2001:db8:1:2::1"
	w := NewEmpty(t, OpenSQLite, Options{SignInLimit: limit})
	addUsers(t, w, "ada@example.com", "bea@example.com")
	expect := func(from string, e loci.Email, p loci.PasswordAttempt, code loci.Code) {
		t.Helper()
		err := signIn(t, w, from, e, p)
		if code == "" && err != nil || code != "" && !loci.Is(err, code) {
			t.Fatalf("%s from %s: %v, want %q", e, from, err, code)
		}
	}
	expect(home, "ada@example.com", password, "")
	for i := range limit {
		expect(fmt.Sprint("192.0.2.", i), "ada@example.com", "wrong", loci.CodeInvalidKey)
	}
	expect("192.0.2.99", "ada@example.com", password, loci.CodeRateLimited)
	for range limit {
		// a neighbour of the same network
		expect("2001:db8:1:2::66", "bea@example.com", "wrong", loci.CodeInvalidKey)
	}
	expect(home, "bea@example.com", password, loci.CodeRateLimited)
	expect("2001:db8:1:2::2", "ADA@example.com", password, "")
	for range limit {
		expect(home, "ada@example.com", "wrong", loci.CodeInvalidKey)
	}
	expect(home, "ada@example.com", password, loci.CodeRateLimited) // bounded even there
}

func TestRegistrationIsLimited(t *testing.T) {
	t.Parallel()
	const limit = 3
	w := NewEmpty(t, OpenSQLite, Options{SignInLimit: limit})
	register := func(from string, e loci.Email, token loci.InvitationToken) error {
		in := loci.Register{Email: e, Password: password, Invitation: token}
		_, err := op.Do(t.Context(), w.Host, &op.Call{Address: from}, service.AuthRegister, in)
		return err
	}
	for range 2 * limit {
		if err := register("192.0.2.1", "no address", ""); !loci.Is(err, loci.CodeInvalidQuery) {
			t.Fatal(err) // and does not count
		}
	}
	testenv.NoError(t, register("192.0.2.1", "ada@example.com", ""))
	Expect(t, "register", register("192.0.2.1", "ada@example.com", ""), loci.CodeConflict)
	Expect(t, "register", register("192.0.2.1", "bea@example.com", "guess"), loci.CodeNotFound)
	err := register("192.0.2.1", "cid@example.com", "")
	if retry := loci.AsError(err).RetryAfter; !loci.Is(err, loci.CodeRateLimited) || retry <= 0 ||
		retry > 15*time.Minute {
		t.Errorf("%v, wait %v", err, retry)
	}
	Expect(t, "registrations are counted as sign-ins", signIn(t, w, "192.0.2.1", "ada@example.com", password), "")
	Expect(t, "register", register("192.0.2.2", "ada@example.com", ""), loci.CodeConflict)
	Expect(t, "whether an address is taken can be asked without a limit", register("192.0.2.3", "ada@example.com", ""),
		loci.CodeRateLimited)
	w.Clock.Advance(15 * time.Minute)
	testenv.NoError(t, register("192.0.2.1", "cid@example.com", ""))
}

// Many registrations at once delay no sign-in, and use no more memory than the bound of the queue.
func TestBusyServerRefusesRegistrationsBeforeSignIns(t *testing.T) {
	t.Parallel()
	w := NewEmpty(t, OpenSQLite, Options{SignInLimit: 1000})
	addUsers(t, w, "ada@example.com")
	queue := w.Service.Passwords()
	release := queue.Take(limit.Key{}, queue.Total())
	const more = 10
	registered, refusals := make(chan error, hashing.MaxWaitingSignUps+more), 0
	for i := range hashing.MaxWaitingSignUps + more {
		go func() {
			in := loci.Register{Email: loci.Email(fmt.Sprintf("new%d@example.com", i)), Password: password}
			_, err := op.Do(t.Context(), w.Host, &op.Call{Address: "192.0.2.1"}, service.AuthRegister, in)
			registered <- err
		}()
	}
	for ; refusals < more; refusals++ {
		if err := <-registered; !loci.Is(err, loci.CodeUnavailable) || loci.AsError(err).RetryAfter <= 0 {
			t.Fatalf("beyond the bound: %v", err)
		}
	}
	signedIn := make(chan error, 1)
	go func() { signedIn <- signIn(t, w, "192.0.2.2", "ada@example.com", password) }()
	waittest.Until(t, func() bool {
		return queue.Waiting(hashing.SignIn) == 1 && queue.Waiting(hashing.SignUp) == hashing.MaxWaitingSignUps
	})
	release()
	testenv.NoError(t, <-signedIn)
	for range hashing.MaxWaitingSignUps {
		testenv.NoError(t, <-registered)
	}
}

func TestSignInsAreUnlimitedWithoutLimit(t *testing.T) {
	t.Parallel()
	w := NewEmpty(t, OpenSQLite, Options{})
	addUsers(t, w, "ada@example.com")
	for range 25 {
		Expect(t, "signIn", signIn(t, w, "192.0.2.1", "ada@example.com", "wrong"), loci.CodeInvalidKey)
	}
}

func TestUnknownAccountsAndWrongPasswordsAreAlike(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{}) // ann has no password
	addUsers(t, w, "ada@example.com")
	said := map[string]bool{}
	for _, e := range []loci.Email{"ada@example.com", "ann@example.com", "nobody@example.com", "no address"} {
		err := signIn(t, w, "", e, "wrong")
		Expect(t, string(e), err, loci.CodeInvalidKey)
		said[err.Error()] = true
	}
	testenv.Len(t, said, 1, "the messages differ")
	Expect(t, "an account without a password, signed in to without one", signIn(t, w, "", "ann@example.com", ""),
		loci.CodeInvalidKey)
}

func TestDisabledUserSignsInLikeUnknownOne(t *testing.T) {
	t.Parallel()
	Each(t, Options{SignInLimit: 3}, func(t *testing.T, w *World) {
		addUsers(t, w, "ada@example.com")
		disable := func(disabled bool) {
			testenv.Must(w.Service.SetDisabled(t.Context(), "ada@example.com", disabled))(t)
		}
		disable(true)
		for range 3 {
			err, unknown := signIn(t, w, "192.0.2.1", "ada@example.com", password), signIn(t, w, "192.0.2.2",
				"nobody@example.com", password)
			if !loci.Is(err, loci.CodeInvalidKey) || err.Error() != unknown.Error() {
				t.Errorf("%v, %v", err, unknown)
			}
		}
		Expect(t, "attempts on a disabled account count", signIn(t, w, "192.0.2.3", "ada@example.com", password),
			loci.CodeRateLimited)
		disable(false)
		w.Clock.Advance(time.Hour)
		testenv.NoError(t, signIn(t, w, "192.0.2.3", "ada@example.com", password))
		Expect(t, "an unknown address", testenv.ErrorOf(w.Service.SetDisabled(t.Context(), "nobody@example.com", true)),
			loci.CodeNotFound)
	})
}

func TestOperatorSeesUserWithoutSecrets(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		list := testenv.Must(w.Service.ListUsers(t.Context()))(t).Users
		var ann accountdb.Summary
		for _, u := range list {
			if u.ID == w.Ann.ID {
				ann = u
			}
		}
		if len(list) < 5 || ann.Email != w.Ann.Email || ann.Keys != 1 || ann.Teams != 2 || !ann.EmailVerified ||
			ann.Disabled || ann.Plan != loci.PlanSelfHosted || ann.CreatedAt == 0 {
			t.Errorf("%d users, %+v", len(list), ann)
		}
		w.Memory(t, w.Atlas(t, "Shelf"), "twelve bytes")
		got := testenv.Must(w.Service.ShowUser(t.Context(), "Ann@example.com"))(t)
		if got.User.ID != w.Ann.ID || got.Usage.Memories < 1 || got.Usage.Storage.UsedBytes < 12 ||
			got.Quotas.Team.Used != 2 || len(got.Workspaces) != 3 || got.Workspaces[0].Kind != loci.WorkspacePersonal ||
			got.Workspaces[1].Role != loci.RoleOwner || got.Workspaces[1].MemberCount < 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestCookieSignsInUntilSignOut(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		in := loci.Register{Email: "Ada@Example.com", Password: password}
		made := testenv.Must(w.Service.Register(t.Context(), &identity.Actor{}, in))(t)
		if made.User.Name != "Ada" || made.User.EmailVerified || !made.Created() {
			t.Errorf("%+v", made.User)
		}
		MustFail(t, w, CallerNobody, service.AuthRegister, loci.Register{Email: "ADA@example.com", Password: password},
			loci.CodeConflict)
		back := testenv.Must(w.Service.SignIn(t.Context(), &identity.Actor{},
			loci.Login{Email: "ada@EXAMPLE.com", Password: password}))(t)
		if back.User != made.User || back.Created() || back.Cookie().Secret == made.Cookie().Secret {
			t.Errorf("%+v", back)
		}
		me := func(s string) error {
			_, err := op.Do(t.Context(), w.Host, &op.Call{Credential: s, CredentialKind: identity.CredentialCookie},
				service.AccountMe, loci.Empty{})
			return err
		}
		for _, s := range []loci.SignedIn{made, back} {
			testenv.NoError(t, me(s.Cookie().Secret))
		}
		out := &op.Call{Credential: made.Cookie().Secret, CredentialKind: identity.CredentialCookie}
		testenv.Must(op.Do(t.Context(), w.Host, out, service.AuthLogout, loci.Empty{}))(t)
		Expect(t, "after signing out", me(made.Cookie().Secret), loci.CodeInvalidKey)
		w.Clock.Advance(31 * 24 * time.Hour)
		Expect(t, "idle for 31 days", me(back.Cookie().Secret), loci.CodeInvalidKey)
	})
}

func TestRegistrationCanBeClosed(t *testing.T) {
	t.Parallel()
	w := NewEmpty(t, OpenSQLite, Options{Registration: service.RegistrationClosed})
	MustFail(t, w, CallerNobody, service.AuthRegister, loci.Register{Email: "ada@example.com", Password: password},
		loci.CodeForbidden)
	MustCall(t, w, CallerNobody, service.AuthSetup, setUp(w.Service.NewSetupToken()))
}

func TestSignInsOfUserAreBounded(t *testing.T) {
	t.Parallel()
	eachEmptyWorld(t, func(t *testing.T, w *World) {
		addUsers(t, w, "ada@example.com", "bea@example.com")
		var ended []loci.ID
		w.Service.Store.Subscribe(func(c accountdb.Change) { ended = append(ended, c.CredentialID) })
		system := func(f func(*store.SystemTx) (loci.ID, error)) (id loci.ID, err error) {
			return store.System(t.Context(), w.Service.Store, "test", f)
		}
		credential := func(browser string) (loci.ID, error) {
			return system(func(tx *store.SystemTx) (loci.ID, error) {
				c, err := tx.Credential(identity.CredentialCookie, identity.SecretHash(browser))
				return c.ID, err
			})
		}
		add := func(e loci.Email, browser string) {
			w.Clock.Advance(time.Second)
			testenv.Must(system(func(tx *store.SystemTx) (loci.ID, error) {
				l, err := tx.UserByEmail(e)
				if err != nil {
					return "", err
				}
				return "", tx.AddSignIn(l.User.ID, accountdb.NewSignIn{Hash: identity.SecretHash(browser)})
			}))(t)
		}
		add("bea@example.com", "bea")
		for _, browser := range []string{"used", "first", "second"} {
			add("ada@example.com", browser)
		}
		for i := range accountdb.MaxSignIns - 3 {
			add("ada@example.com", fmt.Sprint(i))
		}
		used, first := testenv.Must(credential("used"))(t), testenv.Must(credential("first"))(t)
		testenv.Must(system(func(tx *store.SystemTx) (loci.ID, error) {
			return "", tx.Touch(accountdb.SignInUses, map[loci.ID]loci.Time{used: tx.Now()})
		}))(t)
		testenv.NoError(t, signIn(t, w, "192.0.2.1", "ada@example.com", password))
		if _, err := credential("first"); !loci.Is(err, loci.CodeNotFound) || len(ended) != 1 || ended[0] != first {
			t.Errorf("the oldest: %v, ended %v, not %s", err, ended, first)
		}
		for _, browser := range []string{"used", "second", "0", "bea"} {
			if _, err := credential(browser); err != nil {
				t.Errorf("%s: %v", browser, err)
			}
		}
	})
}
