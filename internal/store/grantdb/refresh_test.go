package grantdb_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// refused fails the test unless an exchange was refused.
func refused(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, storetest.ErrInvalidGrant) {
		t.Errorf("%s: %v", what, err)
	}
}

// refuses fails the test unless a refresh is refused.
func (w world) refuses(t testing.TB, what, token, client string) {
	t.Helper()
	_, err := storetest.Refresh(w.s, token, client)
	refused(t, what, err)
}

func (w world) refresh(t testing.TB, token string) grantdb.Tokens {
	t.Helper()
	return testenv.Must(storetest.Refresh(w.s, token, "editor"))(t)
}

// A thief refreshes until no row of the stolen token is left, or waits until it is deleted.
func TestStolenRefreshTokenEndsItsGrantHoweverManyFollowedIt(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(testing.TB, world, grantdb.Tokens) grantdb.Tokens{
		"refreshes": func(t testing.TB, w world, k grantdb.Tokens) grantdb.Tokens {
			for range 250 {
				k = w.refresh(t, k.Refresh)
			}
			return k
		},
		"time": func(t testing.TB, w world, k grantdb.Tokens) grantdb.Tokens {
			for range 3 {
				k = w.refresh(t, k.Refresh)
				w.clock.advance(40 * 24 * time.Hour)
				grants(t, w.s, grantdb.Tx.DeleteExpired)
			}
			return w.refresh(t, k.Refresh)
		},
	} {
		eachWorld(t, func(t *testing.T, w world) {
			stolen, other := w.token(t), w.token(t)
			last := hide(t, w, stolen)
			if w.refuses(t, "another client", stolen.Refresh, "other"); !opens(t, w.s, last.Access) {
				t.Errorf("%s: another client ends the grant", name)
			}
			w.refuses(t, "the stolen token", stolen.Refresh, "editor")
			if opens(t, w.s, last.Access) {
				t.Errorf("%s: the tokens of the thief work", name)
			}
			if _, err := storetest.Refresh(w.s, other.Refresh, "editor"); name == "refreshes" && err != nil {
				t.Errorf("another grant ended: %v", err)
			}
		})
	}
}

func TestRefreshTokenIsBoundToItsClient(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		k := w.token(t)
		w.refuses(t, "another client", k.Refresh, "other")
		for _, token := range []string{"", k.Access, identity.NewRefreshToken(), k.Refresh + "0"} {
			w.refuses(t, "another token", token, "editor")
		}
		w.refresh(t, k.Refresh)
	})
}

// The key of stored responses derives from the secret.
func TestSecretOfAGrantOpensWithEachOfItsAccessTokens(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		secret := func(access string) []byte {
			c := testenv.Must(credential(w.s, access))(t)
			text, err := grantdb.Secret(access, c.SealedSecret)
			if err != nil || len(text) != 32 {
				t.Fatalf("%d bytes, %v", len(text), err)
			}
			if _, err := grantdb.Secret(identity.NewAccessToken(), c.SealedSecret); err == nil {
				t.Error("another token opens the secret")
			}
			return text
		}
		first, other := w.token(t), w.token(t)
		second := w.refresh(t, first.Refresh)
		if !bytes.Equal(secret(first.Access), secret(second.Access)) ||
			bytes.Equal(secret(first.Access), secret(other.Access)) {
			t.Error("the secret changes with a refresh, or two grants share it")
		}
	})
}
