package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/testenv"
)

// ErrInvalidGrant is the error of a refused code or refresh token.
var ErrInvalidGrant = errors.New("invalid grant")

// SignIn signs a user in by a new browser, and returns the id of the sign-in.
func SignIn(t testing.TB, s *store.Store, userID loci.ID) loci.ID {
	t.Helper()
	hash := identity.SecretHash(identity.NewSecret())
	c := testenv.Must(store.System(context.Background(), s, "test",
		func(x *store.SystemTx) (accountdb.Credential, error) {
			if err := x.AddSignIn(userID, accountdb.NewSignIn{Hash: hash}); err != nil {
				return accountdb.Credential{}, err
			}
			return x.Credential(identity.CredentialCookie, hash)
		}))(t)
	return c.ID
}

// Consent returns the consent of a user to let a client use some workspaces, and the request that redeems its code.
func Consent(userID, signIn loci.ID, client string, workspaces ...loci.ID) (grantdb.Consent, grantdb.Redemption) {
	r := grantdb.Redemption{ClientID: client, RedirectURI: "http://127.0.0.1:7008/callback",
		Verifier: identity.NewSecret()}
	sum := sha256.Sum256([]byte(r.Verifier))
	return grantdb.Consent{ClientID: client, ClientName: "Editor", ClientURI: "https://editor.example",
		RedirectURI: r.RedirectURI, Challenge: base64.RawURLEncoding.EncodeToString(sum[:]),
		Resource: "https://loci.example/mcp", Scope: "mcp", UserID: userID, SignInID: signIn, Workspaces: workspaces}, r
}

// Authorize stores a consent, and returns its code.
func Authorize(s *store.Store, c grantdb.Consent) (string, error) {
	return store.System(context.Background(), s, "test", func(x *store.SystemTx) (string, error) {
		return x.Grants().AddCode(c)
	})
}

// Redeem exchanges a code for tokens.
func Redeem(s *store.Store, r grantdb.Redemption) (grantdb.Tokens, error) {
	return exchange(s, func(t grantdb.Tx) (grantdb.Tokens, bool, error) { return t.Redeem(r) })
}

// Refresh exchanges a refresh token for new tokens.
func Refresh(s *store.Store, token, client string) (grantdb.Tokens, error) {
	return exchange(s, func(t grantdb.Tx) (grantdb.Tokens, bool, error) { return t.Refresh(token, client) })
}

// exchange turns a refusal into ErrInvalidGrant, after the commit.
func exchange(s *store.Store, f func(grantdb.Tx) (grantdb.Tokens, bool, error)) (grantdb.Tokens, error) {
	refused := false
	k, err := store.System(context.Background(), s, "test", func(x *store.SystemTx) (grantdb.Tokens, error) {
		k, ok, err := f(x.Grants())
		refused = !ok
		return k, err
	})
	if err == nil && refused {
		err = ErrInvalidGrant
	}
	return k, err
}

// Token returns the tokens of a new grant of a user.
func Token(t testing.TB, s *store.Store, userID loci.ID, workspaces ...loci.ID) grantdb.Tokens {
	t.Helper()
	return newToken(t, s, userID, grantdb.MCPScope, workspaces...)
}

// AccountToken returns the tokens of a new grant that reaches the whole account of a user.
func AccountToken(t testing.TB, s *store.Store, userID loci.ID) grantdb.Tokens {
	t.Helper()
	return newToken(t, s, userID, grantdb.AccountScope)
}

func newToken(t testing.TB, s *store.Store, userID loci.ID, scope string, workspaces ...loci.ID) grantdb.Tokens {
	t.Helper()
	c, r := Consent(userID, SignIn(t, s, userID), "editor", workspaces...)
	c.Scope = scope
	var err error
	if r.Code, err = Authorize(s, c); err != nil {
		t.Fatal(err)
	}
	k := testenv.Must(Redeem(s, r))(t)
	return k
}
