package identity_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/identity"
)

func TestKeysHaveAFormAndAChecksum(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		k := identity.NewKey()
		if len(k) != len("loci_live_")+43 || !identity.ValidKey(k) || seen[k] {
			t.Fatal(k)
		}
		seen[k] = true
		for _, near := range []string{k[:len(k)-1], k + "a", k[:20] + swap(k[20]) + k[21:],
			strings.Replace(k, "live", "test", 1)} {
			if identity.ValidKey(near) {
				t.Fatalf("%s passes beside %s", near, k)
			}
		}
	}
}

func swap(c byte) string {
	if c == 'a' {
		return "b"
	}
	return "a"
}
