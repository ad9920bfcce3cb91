//go:build !linux && !darwin && !freebsd

package sqldb

// freeBytes returns -1: this system is not asked.
func freeBytes(string) int64 { return -1 }
