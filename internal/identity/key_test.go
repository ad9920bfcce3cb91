package identity_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/identity"
)

func TestKeysAndTokensHaveAFormAndAChecksum(t *testing.T) {
	t.Parallel()
	for prefix, form := range map[string]struct {
		make  func() string
		valid func(string) bool
	}{
		"loci_live_": {identity.NewKey, identity.ValidKey},
		"loci_oat_":  {identity.NewAccessToken, identity.ValidAccessToken},
		"loci_ort_":  {identity.NewRefreshToken, identity.ValidRefreshToken},
	} {
		seen := map[string]bool{}
		for range 1000 {
			k := form.make()
			if len(k) != len(prefix)+43 || !strings.HasPrefix(k, prefix) || !form.valid(k) || seen[k] {
				t.Fatal(k)
			}
			seen[k] = true
			for _, near := range []string{k[:len(k)-1], k + "a", k[:20] + swap(k[20]) + k[21:], k[len(prefix):],
				strings.Replace(k, prefix, "loci_own_", 1)} {
				if form.valid(near) {
					t.Fatalf("%s passes beside %s", near, k)
				}
			}
		}
	}
}

func TestRefreshTokensOfAFamily(t *testing.T) {
	t.Parallel()
	first := identity.NewRefreshToken()
	next := identity.NextRefreshToken(first)
	if next == first || next == identity.NextRefreshToken(first) || !identity.ValidRefreshToken(next) {
		t.Errorf("%s follows %s", next, first)
	}
	family := identity.RefreshFamily(first)
	if identity.RefreshFamily(identity.NextRefreshToken(next)) != family || len(family) != len("loci_ort_")+18 ||
		identity.RefreshFamily(identity.NewRefreshToken()) == family {
		t.Errorf("%s is no family", family)
	}
}

func swap(c byte) string {
	if c == 'a' {
		return "b"
	}
	return "a"
}
