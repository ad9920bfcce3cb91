//go:build !linux

package listen

// tuneWriteBuffer does nothing: this system does not choose the size of a buffer again.
func tuneWriteBuffer(tcpConn) {}
