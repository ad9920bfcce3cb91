// Package disk measures disks.
package disk

import (
	"os"
	"path/filepath"
)

// FreeBytes returns the bytes that an unprivileged user can write at a path, or -1 if that is unknown. A path that does
// not exist yet is measured by the nearest folder above it.
func FreeBytes(path string) int64 {
	for {
		_, err := os.Stat(path)
		above := filepath.Dir(path)
		if !os.IsNotExist(err) || above == path {
			return freeBytes(path)
		}
		path = above
	}
}
