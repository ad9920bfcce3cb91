//go:build !linux

package server

import "net"

// refuseNew does nothing: this system resets the connections of the last moment.
func refuseNew(*net.TCPListener) {}
