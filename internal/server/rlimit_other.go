//go:build !linux && !darwin

package server

import "math"

// openFiles returns no limit: this system is not asked.
func openFiles() uint64 { return math.MaxUint64 }
