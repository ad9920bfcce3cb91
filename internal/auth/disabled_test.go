package auth_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A server follows at once, and another one on the same database within the time of its cache.
func TestGateRefusesDisabledAndDeletedUsers(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{}, func(t *testing.T, d storetest.Database, h *gateFixture) {
		other := gate(d.Open(t, store.Options{Clock: h.clock.now}), h.clock, gateOptions{})
		t.Cleanup(other.Close)
		testenv.Must(h.work.AddUser(t.Context(), "bea@example.com", "", "correct horse"))(t)
		key := testenv.Must(h.work.AddKey(t.Context(), "bea@example.com", ""))(t)
		browser := testenv.Must(h.work.SignIn(t.Context(), &identity.Actor{}, loci.Login{Email: "bea@example.com",
			Password: "correct horse"}))(t)
		check := func(g *auth.Gate, want loci.Code) {
			t.Helper()
			_, err := admit(g, metered, key.APIKey)
			expect(t, err, want)
			_, err = g.Admit(t.Context(), metered, &op.Call{Credential: browser.Cookie().Secret,
				CredentialKind: identity.CredentialCookie})
			expect(t, err, want)
			_, err = admit(g, metered, h.key.APIKey) // of another user
			expect(t, err, "")
		}
		check(h.Gate, "")
		check(other, "")
		for _, disabled := range []bool{true, false} {
			testenv.Must(h.work.SetDisabled(t.Context(), "Bea@example.com", disabled))(t)
			want := loci.Code("")
			if disabled {
				want = loci.CodeRevoked
			}
			check(h.Gate, want)
			h.clock.pass(cached)
			check(other, want)
		}
		testenv.Must(h.work.DeleteUser(t.Context(), "bea@example.com", false))(t)
		check(h.Gate, loci.CodeInvalidKey)
		h.clock.pass(cached)
		check(other, loci.CodeInvalidKey)
	})
}
