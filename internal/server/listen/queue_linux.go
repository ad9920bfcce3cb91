package listen

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// waitForQueue returns once every connection in the listener's queue has been accepted, or after a second: the system
// resets those that wait when the listener closes, and with them requests that a proxy has sent. On a listening socket
// tcpi_unacked is the length of the queue (tcp_get_info in net/ipv4/tcp.c).
func waitForQueue(l net.Listener) {
	socket, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		queued := uint32(0)
		err := raw.Control(func(fd uintptr) {
			if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
				queued = info.Unacked
			}
		})
		if err != nil || queued == 0 {
			return
		}
	}
}
