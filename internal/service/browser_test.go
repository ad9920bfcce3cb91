package service_test

import (
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// signInAs registers a person and returns a call of each of n browsers.
func signInAs(t *testing.T, w *World, email loci.Email, password loci.Password, n int) (calls []*op.Call) {
	t.Helper()
	testenv.Must(w.Service.AddUser(t.Context(), email, "Walker", password))(t)
	for range n {
		c := &op.Call{Address: "192.0.2.7", UserAgent: "Browser\x1b[2J/1"}
		out := testenv.Must(w.Service.SignIn(t.Context(), &identity.Actor{ClientAddress: c.Address,
			UserAgent: c.UserAgent}, loci.Login{Email: email, Password: loci.PasswordAttempt(password)}))(t)
		c.Credential, c.CredentialKind = out.Cookie().Secret, identity.CredentialCookie
		calls = append(calls, c)
	}
	return calls
}

func do[In, Out any](t *testing.T, w *World, c *op.Call, o op.TypedOp[In, Out], in In) (Out, error) {
	t.Helper()
	call := *c
	return op.Do(t.Context(), w.Host, &call, o, in)
}

func TestPasswordChangeEndsOtherSignIns(t *testing.T) {
	t.Parallel()
	Each(t, Options{SignInLimit: 3}, func(t *testing.T, w *World) {
		b := signInAs(t, w, "walker@example.com", "correct horse", 3)
		change := loci.ChangePassword{CurrentPassword: "correct horse", NewPassword: "battery staple"}
		Expect(t, "AccountPassword", testenv.ErrorOf(do(t, w, b[0], service.AccountPassword,
			loci.ChangePassword{CurrentPassword: "wrong", NewPassword: "battery staple"})), loci.CodeForbidden)
		testenv.Must(do(t, w, b[0], service.AccountPassword, change))(t)
		for i, want := range []loci.Code{"", loci.CodeInvalidKey, loci.CodeInvalidKey} {
			Expect(t, "browser", testenv.ErrorOf(do(t, w, b[i], service.AccountMe, loci.Empty{})), want)
		}
		login := func(p loci.PasswordAttempt) error {
			_, err := w.Service.SignIn(t.Context(), &identity.Actor{ClientAddress: "192.0.2.8"},
				loci.Login{Email: "walker@example.com", Password: p})
			return err
		}
		Expect(t, "the former password", login("correct horse"), loci.CodeInvalidKey)
		Expect(t, "the new password", login("battery staple"), "")
		var err error
		for range 5 {
			_, err = do(t, w, b[0], service.AccountPassword, change)
		}
		Expect(t, "the limit of failures", err, loci.CodeRateLimited)
	})
}

func TestPersonSignsOtherBrowsersOut(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		b := signInAs(t, w, "walker@example.com", "correct horse", 2)
		list := testenv.Must(do(t, w, b[1], service.SignInList, loci.ListSignIns{}))(t).SignIns
		if len(list) != 2 || !list[0].Current || list[1].Current || list[0].UserAgent != "Browser[2J/1" ||
			list[0].Address != "192.0.2.7" || list[0].LastUsedAt == 0 {
			t.Fatalf("%+v", list)
		}
		MustFail(t, w, CallerOwner, service.SignInRevoke, loci.RevokeSignIn{SignInID: list[1].ID}, loci.CodeNotFound)
		testenv.Must(do(t, w, b[1], service.SignInRevoke, loci.RevokeSignIn{SignInID: list[1].ID}))(t)
		Expect(t, "a browser that was signed out", testenv.ErrorOf(do(t, w, b[0], service.AccountMe, loci.Empty{})),
			loci.CodeInvalidKey)
		Expect(t, "the other browser", testenv.ErrorOf(do(t, w, b[1], service.AccountMe, loci.Empty{})), "")
	})
}

func TestPersonIsRenamed(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		out := MustCall(t, w, CallerOwner, service.AccountUpdate, loci.UpdateAccount{Name: "Ann Lee"})
		if got := MustCall(t, w, CallerOwner, service.AccountMe, loci.Empty{}); got != out ||
			got.User.Name != "Ann Lee" {
			t.Errorf("%+v, %+v", out, got)
		}
	})
}
