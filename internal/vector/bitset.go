package vector

import "math/bits"

// isSet reports whether bit i of a set is set. A nil set is empty.
func isSet(set []uint64, i int) bool { return set != nil && set[i/64]>>(i%64)&1 == 1 }

// popCount returns the number of set bits.
func popCount(set []uint64) (n int) {
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}
