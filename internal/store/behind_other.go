//go:build !linux

package store

// behind runs f; only Linux has priorities of threads.
func behind(f func()) { f() }
