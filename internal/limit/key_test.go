package limit

import "testing"

func TestNetworkOfAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1":                "192.0.2.1",
		"::ffff:192.0.2.1":         "192.0.2.1",
		"2001:db8:1:2::1":          "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::9":     "2001:db8:1:2::/64",
		"2001:db8:1:3::1":          "2001:db8:1:3::/64",
		"fe80::1%eth0":             "fe80::/64",
		"":                         "",
		"a socket of the machine":  "a socket of the machine",
		"::ffff:192.0.2.1%ignored": "192.0.2.1",
	} {
		if got := Network(address); got.id != want {
			t.Errorf("%q is of %q, want %q", address, got.id, want)
		}
	}
}

func TestKeysOfKindsDiffer(t *testing.T) {
	t.Parallel()
	keys := map[Key]bool{}
	for _, id := range []string{"", "a", "b"} {
		keys[User(id)], keys[Network(id)] = true, true
		for _, in := range []string{"x", "y"} {
			keys[User(id).In(Network(in))] = true
		}
	}
	keys[Key{}] = true
	if len(keys) != 13 {
		t.Errorf("%d keys, want 13", len(keys))
	}
}
