package testenv

import "net"

// A PipeListener accepts connections without buffers, whose deadlines follow the clock of a bubble.
type PipeListener chan net.Conn

// Dial returns the client's end of a connection, once the server has accepted it.
func (l PipeListener) Dial() net.Conn {
	ours, theirs := net.Pipe()
	l <- theirs
	return ours
}

// Accept returns the server's end of a connection.
func (l PipeListener) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close ends Accept.
func (l PipeListener) Close() error { close(l); return nil }

// Addr returns an empty address.
func (l PipeListener) Addr() net.Addr { return &net.TCPAddr{} }
