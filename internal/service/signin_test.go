package service_test

import (
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
)

const secret = "correct horse battery"

// walkers makes accounts that can sign in.
func walkers(t *testing.T, w *proof.World, emails ...loci.Email) {
	t.Helper()
	for _, e := range emails {
		proof.Must(w.Service.AddUser(t.Context(), e, "", secret))(t)
	}
}

// signIn tries to sign in from an address.
func signIn(t *testing.T, w *proof.World, from string, e loci.Email, p loci.PasswordTry) error {
	t.Helper()
	_, err := op.Do(t.Context(), w.Host, &op.Call{Address: from}, service.AuthLogin, loci.SignIn{Email: e, Password: p})
	return err
}

func TestFailedSignInsAreLimited(t *testing.T) {
	t.Parallel()
	const limit = 3
	w := proof.Empty(t, proof.SQLite, proof.Options{SigninLimit: limit})
	walkers(t, w, "ada@example.com", "bea@example.com")
	expect := func(from string, e loci.Email, p loci.PasswordTry, code loci.Code) {
		t.Helper()
		err := signIn(t, w, from, e, p)
		if code == "" && err != nil || code != "" && !loci.Is(err, code) {
			t.Fatalf("%s from %s: %v, want %q", e, from, err, code)
		}
		if retry := loci.AsError(err).Retry; code == loci.RateLimited && (retry <= 0 || retry > 15*time.Minute) {
			t.Errorf("wait %v", retry)
		}
	}
	for range 2 * limit {
		expect("192.0.2.1", "ada@example.com", secret, "") // success does not count
	}
	for range limit - 1 {
		expect("192.0.2.1", "ADA@example.com", "wrong", loci.InvalidKey)
	}
	expect("192.0.2.1", "ada@example.com", secret, "")
	w.Clock.Pass(time.Minute)
	expect("192.0.2.1", "ada@example.com", "wrong", loci.InvalidKey)
	expect("192.0.2.9", "ada@example.com", secret, loci.RateLimited) // the account
	expect("192.0.2.1", "bea@example.com", secret, loci.RateLimited) // the address
	expect("192.0.2.2", "bea@example.com", secret, "")
	w.Clock.Pass(14 * time.Minute) // two of the three are too old to count
	expect("192.0.2.1", "ada@example.com", secret, "")
	for range limit - 1 {
		expect("192.0.2.1", "ada@example.com", "wrong", loci.InvalidKey)
	}
	expect("192.0.2.1", "ada@example.com", secret, loci.RateLimited)
	w.Clock.Pass(15 * time.Minute)
	expect("192.0.2.1", "ada@example.com", secret, "")
}

func TestWithoutALimitNobodyWaits(t *testing.T) {
	t.Parallel()
	w := proof.Empty(t, proof.SQLite, proof.Options{})
	walkers(t, w, "ada@example.com")
	for range 25 {
		if err := signIn(t, w, "192.0.2.1", "ada@example.com", "wrong"); !loci.Is(err, loci.InvalidKey) {
			t.Fatal(err)
		}
	}
}

func TestUnknownAccountsAndWrongPasswordsAreAlike(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{}) // ann has no password
	walkers(t, w, "ada@example.com")
	said := map[string]bool{}
	for _, e := range []loci.Email{"ada@example.com", "ann@example.com", "nobody@example.com", "no address"} {
		err := signIn(t, w, "", e, "wrong")
		if !loci.Is(err, loci.InvalidKey) {
			t.Errorf("%s: %v", e, err)
		}
		said[err.Error()] = true
	}
	if len(said) != 1 {
		t.Errorf("the messages differ: %v", said)
	}
	if err := signIn(t, w, "", "ann@example.com", ""); !loci.Is(err, loci.InvalidKey) {
		t.Errorf("an account without a password, signed in to without one: %v", err)
	}
}

func TestACookieSignsInUntilItIsSignedOut(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		in := loci.Register{Email: "Ada@Example.com", Password: secret}
		made := proof.Must(w.Service.Register(t.Context(), &loci.Actor{}, in))(t)
		if made.User.Name != "Ada" || made.User.EmailVerified || !made.Created() {
			t.Errorf("%+v", made.User)
		}
		refused(t, w, proof.Nobody, service.AuthRegister, loci.Register{Email: "ADA@example.com", Password: secret}, loci.Conflict)
		back := proof.Must(w.Service.SignIn(t.Context(), &loci.Actor{}, loci.SignIn{Email: "ada@EXAMPLE.com", Password: secret}))(t)
		if back.User != made.User || back.Created() || back.Cookie().Secret == made.Cookie().Secret {
			t.Errorf("%+v", back)
		}
		me := func(s string) error {
			_, err := op.Do(t.Context(), w.Host, &op.Call{Proof: s, Kind: loci.CookieCredential}, service.AccountMe, loci.Nothing{})
			return err
		}
		for _, s := range []loci.SignedIn{made, back} {
			if err := me(s.Cookie().Secret); err != nil {
				t.Error(err)
			}
		}
		out := &op.Call{Proof: made.Cookie().Secret, Kind: loci.CookieCredential}
		if _, err := op.Do(t.Context(), w.Host, out, service.AuthLogout, loci.Nothing{}); err != nil {
			t.Fatal(err)
		}
		if err := me(made.Cookie().Secret); !loci.Is(err, loci.InvalidKey) {
			t.Errorf("after signing out: %v", err)
		}
		w.Clock.Pass(31 * 24 * time.Hour)
		time.Sleep(1100 * time.Millisecond) // what the gate knows is believed for a second
		if err := me(back.Cookie().Secret); !loci.Is(err, loci.InvalidKey) {
			t.Errorf("idle for 31 days: %v", err)
		}
	})
}

func TestRegistrationCanBeClosed(t *testing.T) {
	t.Parallel()
	w := proof.Empty(t, proof.SQLite, proof.Options{Registration: service.RegistrationClosed})
	refused(t, w, proof.Nobody, service.AuthRegister, loci.Register{Email: "ada@example.com", Password: secret}, loci.Forbidden)
	in := loci.SetUp{Token: w.Service.OpenSetup(), Email: "ada@example.com", Password: secret}
	do(t, w, proof.Nobody, service.AuthSetup, in)
}
