package service_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
)

func setUp(token string) loci.SetUp {
	return loci.SetUp{Token: token, Email: "first@example.com", Password: secret}
}

func TestTheSetupLinkWorksOnce(t *testing.T) {
	t.Parallel()
	w := proof.Empty(t, proof.SQLite, proof.Options{})
	if err := refused(t, w, proof.Nobody, service.AuthSetup, setUp("guess"),
		loci.NotFound); !strings.Contains(err.Error(), "restart the server") {
		t.Error(err)
	}
	refused(t, w, proof.Nobody, service.AuthSetup, setUp(""), loci.NotFound)
	old := w.Service.OpenSetup()
	token := w.Service.OpenSetup()
	refused(t, w, proof.Nobody, service.AuthSetup, setUp(old), loci.NotFound)
	bad := setUp(token)
	bad.Email = "no address"
	refused(t, w, proof.Nobody, service.AuthSetup, bad, loci.InvalidQuery)
	out := do(t, w, proof.Nobody, service.AuthSetup, setUp(token))
	if out.User.Email != "first@example.com" || out.User.Name != "first" {
		t.Errorf("%+v", out.User)
	}
	for name, err := range map[string]error{
		"used":  refused(t, w, proof.Nobody, service.AuthSetup, setUp(token), loci.NotFound),
		"guess": refused(t, w, proof.Nobody, service.AuthSetup, setUp("guess"), loci.NotFound),
		"page":  w.Service.CheckSetup(t.Context(), token),
	} {
		if err == nil || !strings.Contains(err.Error(), "There is an account already: sign in") {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := setUp(w.Service.OpenSetup())
	again.Email = "second@example.com"
	refused(t, w, proof.Nobody, service.AuthSetup, again, loci.NotFound)
}

func TestTheSetupLinkExpires(t *testing.T) {
	t.Parallel()
	w := proof.Empty(t, proof.SQLite, proof.Options{})
	token := w.Service.OpenSetup()
	w.Clock.Pass(time.Hour)
	refused(t, w, proof.Nobody, service.AuthSetup, setUp(token), loci.NotFound)
	token = w.Service.OpenSetup()
	w.Clock.Pass(59 * time.Minute)
	do(t, w, proof.Nobody, service.AuthSetup, setUp(token))
}

func TestOfManyWhoSetUpAtOnceOneDoes(t *testing.T) {
	t.Parallel()
	empty(t, func(t *testing.T, w *proof.World) {
		token := w.Service.OpenSetup()
		errs := make([]error, 6)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				in := setUp(token)
				in.Email = loci.Email("first" + string(rune('a'+i)) + "@example.com")
				_, errs[i] = op.Do(t.Context(), w.Host, &op.Call{}, service.AuthSetup, in)
			})
		}
		all.Wait()
		made := 0
		for _, err := range errs {
			if err == nil {
				made++
			} else if !loci.Is(err, loci.NotFound) {
				t.Error(err)
			}
		}
		if made != 1 {
			t.Errorf("%d first accounts", made)
		}
	})
}

func TestCheckingASetupLinkUsesNothingUp(t *testing.T) {
	t.Parallel()
	w := proof.Empty(t, proof.SQLite, proof.Options{})
	check := func(token string, want bool) {
		t.Helper()
		if err := w.Service.CheckSetup(t.Context(), token); (err == nil) != want || err != nil &&
			!loci.Is(err, loci.NotFound) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	check("", false)
	token := w.Service.OpenSetup()
	check(token+"x", false)
	check(token, true)
	check(token, true)
	w.Clock.Pass(time.Hour)
	check(token, false)
	token = w.Service.OpenSetup()
	do(t, w, proof.Nobody, service.AuthSetup, setUp(token))
	check(w.Service.OpenSetup(), false)
}
