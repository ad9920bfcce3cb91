package server

import (
	"net"
	"syscall"
)

// Offset of the flags in a TCP header, and the flag that opens a connection (RFC 9293, section 3.1).
const (
	tcpFlags = 13
	tcpSYN   = 2
)

// refuseNew drops the packets that open connections (a socket filter, socket(7)).
// Connections that are open already stay in the queue of the listener. The client of
// a dropped packet sends it again after a second, when the listener is closed.
func refuseNew(l *net.TCPListener) {
	raw, err := l.SyscallConn()
	if err != nil {
		return
	}
	// Without the filter the connections of the last moment are reset.
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.AttachLsf(int(fd), []syscall.SockFilter{
			*syscall.LsfStmt(syscall.BPF_LD|syscall.BPF_B|syscall.BPF_ABS, tcpFlags),
			*syscall.LsfJump(syscall.BPF_JMP|syscall.BPF_JSET|syscall.BPF_K, tcpSYN, 0, 1),
			*syscall.LsfStmt(syscall.BPF_RET|syscall.BPF_K, 0),
			*syscall.LsfStmt(syscall.BPF_RET|syscall.BPF_K, 1<<16),
		})
	})
}
