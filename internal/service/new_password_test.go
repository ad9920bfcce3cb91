package service_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// Each operation with a new password refuses one that is guessed first, as the command of the operator does.
func TestNewPasswordIsNotGuessedFirst(t *testing.T) {
	t.Parallel()
	w := conformance.New(t, conformance.OpenSQLite, conformance.Options{})
	empty := conformance.NewEmpty(t, conformance.OpenSQLite, conformance.Options{})
	setupToken := empty.Service.NewSetupToken()
	link := testenv.Must(w.Service.MakeResetLink(t.Context(), "ann@example.com"))(t)
	_, resetToken, _ := strings.Cut(link.URL, "token=")
	browser := signInAs(t, w, "walker@example.com", "correct horse", 1)[0]
	ways := map[string]struct {
		email loci.Email
		try   func(p loci.Password) error
	}{
		service.AuthRegister.Name: {"pat@example.com", func(p loci.Password) error {
			return conformance.Try(t, w, conformance.CallerNobody, service.AuthRegister,
				loci.Register{Email: "pat@example.com", Password: p})
		}},
		service.AuthSetup.Name: {"first@example.com", func(p loci.Password) error {
			in := setUp(setupToken)
			in.Password = p
			return conformance.Try(t, empty, conformance.CallerNobody, service.AuthSetup, in)
		}},
		service.AuthReset.Name: {"ann@example.com", func(p loci.Password) error {
			return resetBy(t, w, resetToken, p)
		}},
		service.AccountPassword.Name: {"walker@example.com", func(p loci.Password) error {
			_, err := do(t, w, browser, service.AccountPassword,
				loci.ChangePassword{CurrentPassword: "correct horse", NewPassword: p})
			return err
		}},
		"loci admin user create": {"made@example.com", func(p loci.Password) error {
			_, err := w.Service.AddUser(t.Context(), "made@example.com", "", p)
			return err
		}},
	}
	for _, o := range service.Ops.Ops {
		for name, p := range o.InputSchema().Properties {
			if p.Format == "password" && p.MinLength != nil && ways[o.Name].try == nil {
				t.Errorf("%s takes a new password in %s: try it here", o.Name, name)
			}
		}
	}
	for name, way := range ways {
		for _, p := range []loci.Password{"short", "PassWord123", "          ", loci.Password(way.email)} {
			conformance.Expect(t, name+" of "+string(p), way.try(p), loci.CodeInvalidQuery)
		}
		conformance.Expect(t, name, way.try("battery staple"), "")
	}
}
