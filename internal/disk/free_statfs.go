//go:build linux || darwin || freebsd

package disk

import "syscall"

// freeBytes returns the bytes that an unprivileged user can write beside a file that exists, or -1.
func freeBytes(path string) int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
