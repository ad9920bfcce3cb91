package limit

import (
	"net/netip"
	"unsafe"
)

// A Key identifies a caller that is limited: a user, a network, or a user in a network. The zero Key is the service
// itself. A limit of credentials alone is faster with their ids as keys.
type Key struct {
	kind keyKind
	id   string
	in   string // the network of a user, or ""
}

// size returns about the bytes of a key in RAM.
func (k Key) size() int { return int(unsafe.Sizeof(k)) + len(k.id) + len(k.in) }

type keyKind uint8

const (
	userKey keyKind = iota + 1
	networkKey
)

// User returns the key of a user, by an id or an account name.
func User[T ~string](id T) Key { return Key{kind: userKey, id: string(id)} }

// Network returns the key of the network of an address: the address itself, or the /64 of an IPv6 subscriber (RFC
// 6177). Other texts are networks of their own. Attempts count by it.
func Network(address string) Key { return networkOf(address, 32, 64) }

// Subnet returns the key of the /24 of an IPv4 address, or the /56 of an IPv6 address: what one party usually holds.
// Shares count by it.
func Subnet(address string) Key { return networkOf(address, 24, 56) }

func networkOf(address string, ipv4Bits, ipv6Bits int) Key {
	if ip, err := netip.ParseAddr(address); err == nil {
		bits := ipv6Bits
		if ip = ip.Unmap().WithZone(""); ip.Is4() {
			bits = ipv4Bits
		}
		if address = ip.String(); bits < ip.BitLen() {
			address = netip.PrefixFrom(ip, bits).Masked().String()
		}
	}
	return Key{kind: networkKey, id: address}
}

// In returns the key of a user in a network.
func (k Key) In(network Key) Key {
	k.in = network.id
	return k
}
