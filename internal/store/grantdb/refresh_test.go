package grantdb_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
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

func TestUsedRefreshTokenReturnsTheSameTokensForTwoMinutes(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		first := w.token(t)
		second := w.refresh(t, first.Refresh)
		if second.Access == first.Access || second.Refresh == first.Refresh || !opens(t, w.s, first.Access) ||
			!opens(t, w.s, second.Access) {
			t.Error("a refresh makes no other tokens, or ends the earlier access token")
		}
		w.clock.advance(110 * time.Second)
		testenv.Equal(t, w.refresh(t, first.Refresh), second, "the repeated refresh returns")
		third := w.refresh(t, second.Refresh)
		testenv.Equal(t, w.refresh(t, first.Refresh), second, "the repeated refresh returns")
		w.clock.advance(11 * time.Second)
		w.refuses(t, "a stolen token", first.Refresh, "editor")
		w.refuses(t, "the newest token", third.Refresh, "editor")
		for _, k := range []grantdb.Tokens{first, second, third} {
			if opens(t, w.s, k.Access) {
				t.Error("an access token of a dead grant works")
			}
		}
	})
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

func TestRevocationTakesAnOldRefreshToken(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		first := w.token(t)
		last := w.refresh(t, first.Refresh)
		w.clock.advance(2 * time.Hour)
		last = w.refresh(t, last.Refresh)
		grants(t, w.s, grantdb.Tx.DeleteExpired)
		grants(t, w.s, func(x grantdb.Tx) error { _, err := x.RevokeToken(first.Refresh, "editor"); return err })
		if opens(t, w.s, last.Access) {
			t.Error("the grant goes on")
		}
	})
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

func TestConcurrentRefreshesReturnTheSameTokens(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		stores := []*store.Store{w.s, w.db.Open(t, store.Options{Clock: w.clock.now})}
		first := w.token(t)
		got := make([]grantdb.Tokens, 20)
		for _, err := range storetest.RunConcurrently(len(got), func(i int) (err error) {
			got[i], err = storetest.Refresh(stores[i%2], first.Refresh, "editor")
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		for _, k := range got {
			if k != got[0] || k.Access == "" {
				t.Errorf("a refresh returns %+v, another one %+v", k, got[0])
			}
		}
	})
}

func TestTokensExpire(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		k := w.token(t)
		w.clock.advance(59 * time.Minute)
		if !opens(t, w.s, k.Access) {
			t.Error("an access token lives less than an hour")
		}
		w.clock.advance(61 * time.Second)
		if opens(t, w.s, k.Access) {
			t.Error("an access token lives longer than an hour")
		}
		for range 3 { // there is no other end than idleness
			w.clock.advance(59 * 24 * time.Hour)
			grants(t, w.s, grantdb.Tx.DeleteExpired)
			k = w.refresh(t, k.Refresh)
		}
		if !opens(t, w.s, k.Access) {
			t.Error("a refreshed token does not work")
		}
		w.clock.advance(60*24*time.Hour + time.Second)
		w.refuses(t, "an idle grant", k.Refresh, "editor")
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
