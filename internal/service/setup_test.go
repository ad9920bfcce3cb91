package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

func setUp(token string) loci.SetUp {
	return loci.SetUp{Token: token, Email: "first@example.com", Password: password}
}

func TestSetupLinkWorksOnce(t *testing.T) {
	t.Parallel()
	w := NewEmpty(t, OpenSQLite, Options{})
	testenv.Contains(t, MustFail(t, w, CallerNobody, service.AuthSetup, setUp("guess"), loci.CodeNotFound).Error(),
		"restart the server")
	MustFail(t, w, CallerNobody, service.AuthSetup, setUp(""), loci.CodeNotFound)
	old := w.Service.NewSetupToken()
	token := w.Service.NewSetupToken()
	MustFail(t, w, CallerNobody, service.AuthSetup, setUp(old), loci.CodeNotFound)
	bad := setUp(token)
	bad.Email = "no address"
	MustFail(t, w, CallerNobody, service.AuthSetup, bad, loci.CodeInvalidQuery)
	out := MustCall(t, w, CallerNobody, service.AuthSetup, setUp(token))
	if out.User.Email != "first@example.com" || out.User.Name != "first" {
		t.Errorf("%+v", out.User)
	}
	for name, err := range map[string]error{
		"used":  MustFail(t, w, CallerNobody, service.AuthSetup, setUp(token), loci.CodeNotFound),
		"guess": MustFail(t, w, CallerNobody, service.AuthSetup, setUp("guess"), loci.CodeNotFound),
		"page":  w.Service.CheckSetup(t.Context(), token),
	} {
		if err == nil || !strings.Contains(err.Error(), "There is an account already: sign in") {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := setUp(w.Service.NewSetupToken())
	again.Email = "second@example.com"
	MustFail(t, w, CallerNobody, service.AuthSetup, again, loci.CodeNotFound)
}

func TestSetupLinkExpires(t *testing.T) {
	t.Parallel()
	w := NewEmpty(t, OpenSQLite, Options{})
	token := w.Service.NewSetupToken()
	w.Clock.Advance(time.Hour)
	MustFail(t, w, CallerNobody, service.AuthSetup, setUp(token), loci.CodeNotFound)
	token = w.Service.NewSetupToken()
	w.Clock.Advance(59 * time.Minute)
	MustCall(t, w, CallerNobody, service.AuthSetup, setUp(token))
}

func TestParallelSetUpsMakeOneAccount(t *testing.T) {
	t.Parallel()
	eachEmptyWorld(t, func(t *testing.T, w *World) {
		token := w.Service.NewSetupToken()
		SucceedAtOnce(t, 6, 1, loci.CodeNotFound, func(i int) error {
			in := setUp(token)
			in.Email = loci.Email("first" + string(rune('a'+i)) + "@example.com")
			return Try(t, w, CallerNobody, service.AuthSetup, in)
		})
	})
}

func TestCheckSetupDoesNotUseTokenUp(t *testing.T) {
	t.Parallel()
	w := NewEmpty(t, OpenSQLite, Options{})
	check := func(token string, want bool) {
		t.Helper()
		if err := w.Service.CheckSetup(t.Context(), token); (err == nil) != want || err != nil &&
			!loci.Is(err, loci.CodeNotFound) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	check("", false)
	token := w.Service.NewSetupToken()
	check(token+"x", false)
	check(token, true)
	check(token, true)
	w.Clock.Advance(time.Hour)
	check(token, false)
	token = w.Service.NewSetupToken()
	MustCall(t, w, CallerNobody, service.AuthSetup, setUp(token))
	check(w.Service.NewSetupToken(), false)
}
