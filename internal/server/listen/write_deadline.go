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
	tuned    bool // the system chooses the size of the write buffer
}

// Write extends the deadline with each part that the client reads. It keeps a deadline that is far enough away: moving
// it costs a small answer a tenth of its processor time.
func (c *deadlineConn) Write(p []byte) (n int, err error) {
	if c.tuned {
		c.tuned = false
		_ = c.SetWriteBuffer(writeBuffer) // as in Accept
	}
	for {
		if err := c.extend(); err != nil {
			return n, err
		}
		m, err := c.tcpConn.Write(p[n:min(n+writeChunk, len(p))])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// extend moves the deadline if it is near.
func (c *deadlineConn) extend() error {
	now := time.Now()
	if c.deadline.Sub(now) >= c.timeout {
		return nil
	}
	return c.SetWriteDeadline(now.Add(c.timeout + c.timeout/4))
}

// SetWriteDeadline sets the deadline. A handler sets a later one for clients that may read more slowly.
func (c *deadlineConn) SetWriteDeadline(t time.Time) error {
	c.deadline = t
	return c.tcpConn.SetWriteDeadline(t)
}

// A part of a file is as large as what a handler sends to a slow client within one deadline of its own.
const filePart = 128 << 10

// ReadFrom writes what a reader has. The system copies parts of a file to the connection. A handler with a late
// deadline that sends more at once has a fast client: a larger write buffer wakes the writer less often.
func (c *deadlineConn) ReadFrom(r io.Reader) (n int64, err error) {
	limited, ok := r.(*io.LimitedReader)
	to, direct := c.tcpConn.(io.ReaderFrom)
	if !ok || !direct {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	size := int64(filePart)
	if limited.N > size && time.Until(c.deadline) > 2*c.timeout {
		size = limited.N
		if !c.tuned {
			c.tuned = true
			tuneWriteBuffer(c.tcpConn)
		}
	}
	for limited.N > 0 {
		if err := c.extend(); err != nil {
			return n, err
		}
		part := &io.LimitedReader{R: limited.R, N: min(size, limited.N)}
		m, err := to.ReadFrom(part)
		n += m
		if limited.N -= m; err != nil || m == 0 {
			return n, err
		}
	}
	return n, nil
}
