//go:build unix

package doctor

import (
	"os"
	"syscall"
)

// isOfOther reports whether root runs the command for a folder of another user.
func isOfOther(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || os.Geteuid() != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0
}
