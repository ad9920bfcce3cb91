package listen

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A client has writeTimeout to read so much that the system accepts more, a third of the write buffer (tcp(7)). The
// buffer grows with the speed of the client, up to 4 MB behind a fast proxy: 12 KB a second are enough.
const (
	writeTimeout = 2 * time.Minute
	writeChunk   = 32 << 10
)

// withWriteDeadlines returns a listener of TCP whose connections end when the client does not read, so that its buffers
// are freed. It covers answers, errors and streams. The WriteTimeout of an http.Server would include the time of the
// handler.
func withWriteDeadlines(l net.Listener) net.Listener { return deadlineListener{l} }

type deadlineListener struct{ net.Listener }

func (l deadlineListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &deadlineConn{tcpConn: c.(tcpConn)}, nil
}

// A tcpConn has the methods of a TCP connection that net/http uses.
type tcpConn interface {
	net.Conn
	io.ReaderFrom
	CloseWrite() error
}

// A deadlineConn is a connection of a server. Its ConnContext sets the last two fields.
type deadlineConn struct {
	tcpConn
	deadline atomic.Pointer[time.Time] // another goroutine than that of the handler may set it
	share    *connShare                // its part in the shares of users and networks
	began    func()                    // tells that a request has reached the handler, or that none will
}

type connKey struct{}

// connOf returns the connection of a request.
func connOf(ctx context.Context) *deadlineConn { return ctx.Value(connKey{}).(*deadlineConn) }

// Close ends the connection.
func (c *deadlineConn) Close() error {
	c.began()
	return c.tcpConn.Close()
}

// Read reports to the share what arrives.
func (c *deadlineConn) Read(p []byte) (n int, err error) {
	if n, err = c.tcpConn.Read(p); n > 0 && c.share != nil {
		c.share.read()
	}
	return n, err
}

// Write extends the deadline with each chunk that the system accepts.
func (c *deadlineConn) Write(p []byte) (n int, err error) {
	if c.share != nil {
		defer c.share.write(true)
	}
	for {
		if c.share != nil {
			c.share.write(false)
		}
		if err := c.extend(time.Now()); err != nil {
			return n, err
		}
		m, err := c.tcpConn.Write(p[n:min(n+writeChunk, len(p))])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// extend moves the deadline if it is near: moving it costs a small answer a tenth of its processor time.
func (c *deadlineConn) extend(now time.Time) error {
	if d := c.deadline.Load(); d != nil && d.Sub(now) >= writeTimeout {
		return nil
	}
	return c.SetWriteDeadline(now.Add(writeTimeout + writeTimeout/4))
}

// SetWriteDeadline sets the deadline. A handler sets a later one for clients that may read more slowly.
func (c *deadlineConn) SetWriteDeadline(t time.Time) error {
	c.deadline.Store(&t)
	return c.tcpConn.SetWriteDeadline(t)
}

// ReadFrom lets the system send a part of a file whose handler has set a later deadline. It needs a quarter of the
// processor time of a copy.
func (c *deadlineConn) ReadFrom(r io.Reader) (int64, error) {
	if d := c.deadline.Load(); d != nil && time.Until(*d) > 2*writeTimeout {
		return c.tcpConn.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}
