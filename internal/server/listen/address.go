package listen

import (
	"net"
	"slices"
)

// URLs returns the URLs by which people reach a listener, the most likely one first. A listener on every
// address of the machine is reached by the addresses of its network interfaces.
func URLs(addr net.Addr) []string {
	host, port, err := net.SplitHostPort(addr.String())
	hosts := []string{host}
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		// Without addresses only this machine reaches the server.
		interfaces, _ := net.InterfaceAddrs()
		hosts = interfaceHosts(ip.To4() == nil, outboundIP(), interfaces)
	}
	urls := make([]string, len(hosts))
	for i, h := range hosts {
		urls[i] = "http://" + net.JoinHostPort(h, port)
	}
	return urls
}

// LocalURL returns the URL by which programs of this machine reach a listener.
func LocalURL(address string) string {
	host, port, _ := net.SplitHostPort(address) // of a malformed address nothing is reached
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// outboundIP returns the address from which this machine sends to others, or
// nil. Connecting a UDP socket chooses a route and sends nothing.
func outboundIP() net.IP {
	c, err := net.Dial("udp4", "192.0.2.1:9")
	if err != nil {
		return nil
	}
	defer c.Close()
	local, ok := c.LocalAddr().(*net.UDPAddr)
	if !ok {
		return nil
	}
	return local.IP
}

// interfaceHosts returns the addresses that other machines can reach: the outgoing one, then IPv4 before IPv6, and the
// loopback address where there is no other.
func interfaceHosts(ipv6 bool, outgoing net.IP, interfaces []net.Addr) []string {
	var ipv4Hosts, ipv6Hosts []string
	for _, a := range interfaces {
		n, ok := a.(*net.IPNet)
		switch {
		case !ok || !n.IP.IsGlobalUnicast():
		case n.IP.To4() == nil:
			ipv6Hosts = append(ipv6Hosts, n.IP.String())
		case n.IP.Equal(outgoing):
			ipv4Hosts = slices.Insert(ipv4Hosts, 0, n.IP.String())
		default:
			ipv4Hosts = append(ipv4Hosts, n.IP.String())
		}
	}
	if ipv6 {
		ipv4Hosts = append(ipv4Hosts, ipv6Hosts...)
	}
	if len(ipv4Hosts) == 0 {
		return []string{"127.0.0.1"}
	}
	return ipv4Hosts
}
