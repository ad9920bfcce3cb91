package listen

import (
	"io"
	"net"
	"time"
)

// A client has writeTimeout to read some of the written bytes. A client that stops reading loses its connection, and
// its buffers are freed. The system unblocks a writer once a third of the write buffer is free (tcp(7)), so the buffer
// size sets the least reading speed: some 6 KiB a second.
const (
	writeTimeout = 30 * time.Second
	writeChunk   = 32 << 10
	writeBuffer  = 256 << 10 // Linux doubles it
)

// WithWriteDeadlines returns a listener whose connections end when the client
// does not read. It covers answers, errors and streams.
func WithWriteDeadlines(l net.Listener) net.Listener { return deadlineListener{l, writeTimeout} }

type deadlineListener struct {
	net.Listener
	timeout time.Duration
}

func (l deadlineListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(tcpConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // without it, clients must read faster
		return &deadlineConn{tcpConn: tcp, timeout: l.timeout}, err
	}
	return c, err
}

// A tcpConn has the methods of a TCP connection that net/http uses.
type tcpConn interface {
	net.Conn
	CloseWrite() error
	SetWriteBuffer(bytes int) error
}

type deadlineConn struct {
	tcpConn
	timeout  time.Duration
	deadline time.Time
}

// Write extends the deadline with each part that the client reads. It keeps a deadline that is far enough away: moving
// it costs a small answer a tenth of its processor time.
func (c *deadlineConn) Write(p []byte) (n int, err error) {
	for {
		if now := time.Now(); c.deadline.Sub(now) < c.timeout {
			c.deadline = now.Add(c.timeout + c.timeout/4)
			if err := c.SetWriteDeadline(c.deadline); err != nil {
				return n, err
			}
		}
		m, err := c.tcpConn.Write(p[n:min(n+writeChunk, len(p))])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// ReadFrom writes by Write: the connection's own method has no deadline.
func (c *deadlineConn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}
