package listen

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLargePartsHaveTunedBuffer sends parts of a file, and an answer after them.
func TestLargePartsHaveTunedBuffer(t *testing.T) {
	t.Parallel()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	client, err := net.Dial("tcp", plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	go io.Copy(io.Discard, client)
	c, err := WithWriteDeadlines(plain).Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send := func(n int64) {
		t.Helper()
		if m, err := c.(io.ReaderFrom).ReadFrom(&io.LimitedReader{R: endless{}, N: n}); m != n || err != nil {
			t.Fatal(m, err)
		}
	}
	requireFixed := func(what string, want bool) {
		t.Helper()
		raw, err := c.(*deadlineConn).tcpConn.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var locks int
		if failed := raw.Control(func(fd uintptr) {
			locks, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BUF_LOCK)
		}); failed != nil || err != nil {
			t.Skip("this kernel does not tune a buffer again:", failed, err)
		}
		if fixed := locks&unix.SOCK_SNDBUF_LOCK != 0; fixed != want {
			t.Errorf("%s: the size of the buffer is fixed: %v", what, fixed)
		}
	}
	send(4 * filePart)
	requireFixed("without a deadline of the handler", true)
	if err := c.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	send(filePart)
	requireFixed("a small part", true)
	send(4 * filePart)
	requireFixed("a large part", false)
	if _, err := c.Write([]byte("HTTP/1.1 200 OK\r\n")); err != nil {
		t.Fatal(err)
	}
	requireFixed("the next answer", true)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
