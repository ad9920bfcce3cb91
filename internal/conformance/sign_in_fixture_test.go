package conformance_test

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/testenv"
)

const password = "correct horse battery"

// signInFixtures are the fixtures of registration and sign-ins.
var signInFixtures = map[string]fixture{
	service.AuthRegister.Name: {
		needs: publicAccess,
		args: func(testScene) args {
			return args{"email": uniqueText("new") + "@example.com", "password": password, "name": "New"}
		},
		refusals: []refusal{
			{name: "taken address", code: loci.CodeConflict,
				args: fixed(args{"email": "ANN@example.com", "password": password})},
			{name: "short password", code: loci.CodeInvalidQuery,
				args: fixed(args{"email": "new@example.com", "password": "short"})},
			{name: "malformed address", code: loci.CodeInvalidQuery,
				args: fixed(args{"email": "a new one", "password": password})},
		},
	},
	service.AuthSetup.Name: {
		needs: publicAccess,
		empty: true,
		args: func(s testScene) args {
			return args{"token": s.Service.NewSetupToken(), "email": "first@example.com", "password": password}
		},
		refusals: []refusal{{name: "used link", code: loci.CodeNotFound,
			args: fixed(args{"token": "used", "email": "first@example.com", "password": password})}},
	},
	service.AuthLogin.Name: {
		needs: publicAccess,
		args: func(s testScene) args {
			email := uniqueText("walker") + "@example.com"
			testenv.Must(s.Service.AddUser(s.t.Context(), loci.Email(email), "Walker", password))(s.t)
			return args{"email": email, "password": password}
		},
		refusals: []refusal{
			{name: "wrong password", code: loci.CodeInvalidKey, args: func(s testScene) args {
				return args{"email": s.Ann.Email, "password": password}
			}},
			{name: "unknown account", code: loci.CodeInvalidKey,
				args: fixed(args{"email": "nobody@example.com", "password": password})},
		},
	},
	service.AuthLogout.Name: {needs: accountAccess, args: noArgs},
	service.AuthVerify.Name: {
		needs:    publicAccess,
		args:     func(s testScene) args { return args{"token": s.token(accountdb.VerifyToken)} },
		refusals: []refusal{{name: "used link", code: loci.CodeNotFound, args: fixed(args{"token": "used"})}},
	},
	service.AuthForgot.Name: {
		needs: publicAccess,
		mail:  true,
		args:  func(s testScene) args { return args{"email": s.Ann.Email} },
		refusals: []refusal{{name: "malformed address", code: loci.CodeInvalidQuery,
			args: fixed(args{"email": "a new one"})}},
	},
	service.AuthReset.Name: {
		needs: publicAccess,
		args: func(s testScene) args {
			return args{"token": s.token(accountdb.ResetToken), "password": presentPassword}
		},
		refusals: []refusal{
			{name: "used link", code: loci.CodeNotFound,
				args: fixed(args{"token": "used", "password": presentPassword})},
			{name: "short password", code: loci.CodeInvalidQuery,
				args: fixed(args{"token": "used", "password": "short"})},
		},
	},
}

// token makes a link to fay, and returns its token.
func (s testScene) token(kind accountdb.TokenKind) string {
	token := identity.NewSecret()
	testenv.Must(store.System(s.t.Context(), s.Store, "test", func(t *store.SystemTx) (loci.Time, error) {
		return t.AddToken(s.Fay.ID, kind, identity.SecretHash(token))
	}))(s.t)
	return token
}
