package oauth

import (
	"net/netip"
	"testing"
)

func TestOnlyPublicAddressesAreDialled(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:4700:4700::1111": true, "::ffff:1.1.1.1": true,
		"64:ff9b::1.1.1.1": true, "172.32.0.1": true, "100.128.0.1": true,

		"127.0.0.1": false, "127.255.0.1": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false,
		"172.31.255.255": false, "192.168.0.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"100.127.255.255": false, "192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false,
		"203.0.113.9": false, "224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false,
		"fe80::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "2001:db8::1": false,
		"2001::1": false, "2002:7f00:1::": false, "2002:0a00:0001::1": false, "64:ff9b::10.0.0.1": false,
		"64:ff9b::169.254.169.254": false, "64:ff9b:1::10.0.0.1": false, "3fff::1": false, "fec0::1": false,
		"2606:4700:4700::1111%eth0": false,
	} {
		if got := isPublicAddress(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if isPublicAddress(netip.Addr{}) {
		t.Error("no address is public")
	}
}
