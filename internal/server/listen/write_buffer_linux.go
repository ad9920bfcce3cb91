package listen

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// tuneWriteBuffer lets the system choose the size of a write buffer again (SO_BUF_LOCK, since Linux 5.14): it grows
// with the speed of the client.
func tuneWriteBuffer(c tcpConn) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	// Without it the buffer stays small.
	_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BUF_LOCK, 0) })
}
