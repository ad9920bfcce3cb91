package listen

import (
	"net"

	"golang.org/x/sys/unix"
)

// Offset of the flags in a TCP header, and the flag that opens a connection (RFC 9293, section 3.1).
const (
	tcpFlags = 13
	tcpSYN   = 2
)

// dropSYN drops the packets that open connections (a socket filter, socket(7)). Open connections stay in the queue of
// the listener. The client of a dropped packet sends it again after a second, when the listener is closed.
func dropSYN(l *net.TCPListener) {
	raw, err := l.SyscallConn()
	if err != nil {
		return
	}
	// Without the filter the connections of the last moment are reset.
	_ = raw.Control(func(fd uintptr) {
		code := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: tcpFlags},
			{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: tcpSYN, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K},
			{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 16},
		}
		_ = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
	})
}
