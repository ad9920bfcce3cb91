//go:build !linux && !darwin

package listen

import "math"

// openFiles returns no limit on this system.
func openFiles() uint64 { return math.MaxUint64 }
