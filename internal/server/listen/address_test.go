package listen

import (
	"net"
	"slices"
	"testing"
)

func TestInterfaceHostsReturnsReachableAddresses(t *testing.T) {
	t.Parallel()
	var all []net.Addr
	for _, s := range []string{"127.0.0.1/8", "::1/128", "169.254.3.4/16", "fe80::1/64", "172.17.0.1/16",
		"192.168.1.5/24", "fd00::5/64"} {
		ip, n, err := net.ParseCIDR(s)
		if err != nil {
			t.Fatal(err)
		}
		n.IP = ip
		all = append(all, n)
	}
	for _, c := range []struct {
		six      bool
		outgoing net.IP
		from     []net.Addr
		want     []string
	}{
		{true, net.ParseIP("192.168.1.5"), all, []string{"192.168.1.5", "172.17.0.1", "fd00::5"}},
		{false, nil, all, []string{"172.17.0.1", "192.168.1.5"}},
		{true, nil, all[:4], []string{"127.0.0.1"}},
	} {
		if got := interfaceHosts(c.six, c.outgoing, c.from); !slices.Equal(got, c.want) {
			t.Errorf("%v %v: %v, want %v", c.six, c.outgoing, got, c.want)
		}
	}
}

func TestURLsReturnBoundAddress(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{"127.0.0.1": "http://127.0.0.1:7007", "::1": "http://[::1]:7007",
		"192.168.1.5": "http://192.168.1.5:7007"} {
		if got := URLs(&net.TCPAddr{IP: net.ParseIP(host), Port: 7007}); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, want %s", host, got, want)
		}
	}
}
