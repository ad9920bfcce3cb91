package conformance_test

import (
	"encoding/base64"

	"golang.org/x/crypto/argon2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/testenv"
)

// accountFixtures are the fixtures of the account.
var accountFixtures = map[string]fixture{
	service.AccountStatus.Name: {needs: accountAccess, args: noArgs},
	service.AccountMe.Name:     {needs: accountAccess, args: noArgs},
	service.AccountEvents.Name: {needs: accountAccess, server: true, args: noArgs},
	service.AccountUpdate.Name: {needs: accountAccess, args: fixed(args{"name": "Another"}),
		refusals: []refusal{{name: "nothing to change", code: loci.CodeInvalidQuery, args: noArgs}}},
	service.AccountPassword.Name: {
		needs:  accountAccess,
		server: true,
		args: func(s testScene) args {
			s.setPasswords()
			return args{"currentPassword": presentPassword, "newPassword": presentPassword}
		},
		refusals: []refusal{
			{name: "wrong password", code: loci.CodeForbidden, args: func(s testScene) args {
				s.setPasswords()
				return args{"currentPassword": "wrong", "newPassword": presentPassword}
			}},
			{name: "short password", code: loci.CodeInvalidQuery,
				args: fixed(args{"currentPassword": presentPassword, "newPassword": "short"})},
		},
	},
	service.AccountVerify.Name: {
		needs:  accountAccess,
		server: true,
		mail:   true,
		args: func(s testScene) args {
			s.setVerified(false)
			return args{}
		},
		refusals: []refusal{{name: "verified already", code: loci.CodeStateConflict, args: func(s testScene) args {
			s.setVerified(true)
			return args{}
		}}},
	},
	service.AccountDelete.Name: {
		needs:  accountAccess,
		server: true,
		alone:  true,
		args: func(s testScene) args {
			s.setPasswords()
			s.handOver()
			return args{"password": presentPassword}
		},
		refusals: []refusal{
			{name: "wrong password", code: loci.CodeForbidden, args: func(s testScene) args {
				s.setPasswords()
				return args{"password": "wrong"}
			}},
			{name: "owner of a team", code: loci.CodeStateConflict, args: func(s testScene) args {
				s.setPasswords()
				s.handOver()
				s.NewTeam(s.t, s.Ann)
				return args{"password": presentPassword}
			}},
		},
	},
	service.SignInList.Name: {
		needs:  accountAccess,
		server: true,
		args: func(s testScene) args {
			list := testenv.Must(s.Service.ListSignIns(s.t.Context(), s.Ann.Actor(), loci.ListSignIns{}))(s.t)
			if len(list.SignIns) == 0 {
				s.signIn(s.Ann)
			}
			return args{"limit": 1}
		},
		refusals: []refusal{badCursor(nil)},
	},
	service.SignInRevoke.Name: {
		needs:  ownerOfRecord,
		server: true,
		args:   func(s testScene) args { return args{"signinId": s.signIn(s.Ann)} },
		names:  []string{"signinId"},
	},
}

// presentPassword is the password of people in calls that ask for it. No example signs in with it.
const presentPassword = "a present password"

// setPasswords gives the same password to all people.
func (s testScene) setPasswords() {
	salt := []byte("no secret salt")
	e := base64.RawStdEncoding
	hash := "$argon2id$v=19$m=8,t=1,p=1$" + e.EncodeToString(salt) + "$" +
		e.EncodeToString(argon2.IDKey([]byte(presentPassword), salt, 1, 8, 1, 32))
	testenv.Must(store.System(s.t.Context(), s.Store, "test", func(t *store.SystemTx) (none loci.Empty, err error) {
		for _, p := range []*conformance.Person{s.Ann, s.Bob, s.Cid, s.Eve, s.Fay} {
			was, err := t.PasswordOf(p.ID)
			if err == nil {
				err = t.SetPassword(p.ID, was, hash, "")
			}
			if err != nil {
				return none, err
			}
		}
		return none, nil
	}))(s.t)
}

// setVerified changes whether the addresses of all people are verified.
func (s testScene) setVerified(verified bool) {
	testenv.Must(sqldb.System(s.t.Context(), s.Store.DB(), "test", func(t *sqldb.Tx) (int64, error) {
		return t.Exec(`UPDATE users SET verified = ?1`, verified)
	}))(s.t)
}

// handOver makes fay the owner of ann's teams.
func (s testScene) handOver() {
	list := testenv.Must(s.Service.ListWorkspaces(s.t.Context(), s.Ann.Actor(), loci.ListWorkspaces{}))(s.t)
	for _, w := range list.Workspaces {
		if w.Kind == loci.WorkspaceTeam && w.Role == loci.RoleOwner {
			s.Join(s.t, w.ID, s.Ann, s.Fay, loci.RoleMember)
			testenv.Must(s.Service.TransferWorkspace(s.t.Context(), s.Ann.Actor(),
				loci.TransferWorkspace{WorkspaceID: w.ID, UserID: s.Fay.ID}))(s.t)
		}
	}
}

// signIn signs a browser of a person in, and returns the id of the sign-in.
func (s testScene) signIn(p *conformance.Person) loci.ID {
	testenv.Must(store.System(s.t.Context(), s.Store, "test", func(t *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, t.AddSignIn(p.ID, accountdb.NewSignIn{Hash: []byte(uniqueText("browser"))})
	}))(s.t)
	return testenv.Must(s.Service.ListSignIns(s.t.Context(), p.Actor(), loci.ListSignIns{}))(s.t).SignIns[0].ID
}
