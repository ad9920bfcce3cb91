//go:build !linux

package listen

import "net"

// waitForQueue returns at once: this system does not tell how many connections wait.
func waitForQueue(net.Listener) {}
