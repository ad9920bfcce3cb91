//go:build !(linux || netbsd || openbsd)

package profile

// isLocked reports false: these systems unlock the keyring as the person signs in.
func isLocked() bool { return false }
