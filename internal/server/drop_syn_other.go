//go:build !linux

package server

import "net"

// dropSYN does nothing: this system resets the last connections of a shutdown.
func dropSYN(*net.TCPListener) {}
