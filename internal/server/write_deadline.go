package server

import (
	"io"
	"net"
	"time"
)

// A client has writeWait to take some of what is written to it. One that stops
// reading loses its connection, and what is kept for it is freed. The system lets
// a writer go on once a third of the write buffer is free (tcp(7)), so that the
// size of the buffer says how quickly a client must read: some 6 KiB a second.
const (
	writeTimeout = 30 * time.Second
	writeChunk   = 32 << 10
	writeBuffer  = 256 << 10 // Linux doubles it
)

// WithWriteDeadlines returns a listener whose connections end where the client does not read.
// It holds for whatever is written to them: answers, errors and streams.
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

// A tcpConn is what net/http uses of a TCP connection.
type tcpConn interface {
	net.Conn
	CloseWrite() error
	SetWriteBuffer(bytes int) error
}

type deadlineConn struct {
	tcpConn
	timeout  time.Duration
	deadline time.Time // the deadline
}

// Write moves the deadline with each part that the client takes. It leaves a
// deadline as it is that is far enough away: moving it costs a small answer a
// tenth of its processor time.
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

// ReadFrom writes by Write: that of the connection would know no deadline.
func (c *deadlineConn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}
