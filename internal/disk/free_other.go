//go:build !linux && !darwin && !freebsd

package disk

// freeBytes returns -1: it is unknown on this system.
func freeBytes(string) int64 { return -1 }
