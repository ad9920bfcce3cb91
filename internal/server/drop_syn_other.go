//go:build !linux

package server

import "net"

// dropSYN does nothing: this system resets the connections of the last moment.
func dropSYN(*net.TCPListener) {}
