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
	writeWait   = 30 * time.Second
	writeChunk  = 32 << 10
	writeBuffer = 256 << 10 // Linux doubles it
)

// Paced returns a listener whose connections end where the client does not read.
// It holds for whatever is written to them: answers, errors and streams.
func Paced(l net.Listener) net.Listener { return pacedListener{l, writeWait} }

type pacedListener struct {
	net.Listener
	wait time.Duration
}

func (l pacedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(tcpConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // without it, clients must read faster
		return &pacedConn{tcpConn: tcp, wait: l.wait}, err
	}
	return c, err
}

// A tcpConn is what net/http uses of a TCP connection.
type tcpConn interface {
	net.Conn
	CloseWrite() error
	SetWriteBuffer(bytes int) error
}

type pacedConn struct {
	tcpConn
	wait  time.Duration
	until time.Time // the deadline
}

// Write moves the deadline with each part that the client takes. It leaves a
// deadline as it is that is far enough away: moving it costs a small answer a
// tenth of its processor time.
func (c *pacedConn) Write(p []byte) (n int, err error) {
	for {
		if now := time.Now(); c.until.Sub(now) < c.wait {
			c.until = now.Add(c.wait + c.wait/4)
			if err := c.SetWriteDeadline(c.until); err != nil {
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
func (c *pacedConn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}
