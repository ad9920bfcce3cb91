//go:build !linux

package listen

import "net"

// dropSYN does nothing: this system resets the last connections of a shutdown.
func dropSYN(*net.TCPListener) {}
