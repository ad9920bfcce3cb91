package vector

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPackSignsKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stored := append(make([]byte, vectorHeaderBytes), rapid.SliceOfN(rapid.Byte(), 1, 400).Draw(t, "values")...)
		want := make([]uint64, (len(stored)-vectorHeaderBytes+63)/64)
		got := slices.Repeat([]uint64{^uint64(0)}, len(want))
		for i, x := range stored[vectorHeaderBytes:] {
			if x < 128 {
				want[i/64] |= 1 << (i % 64)
			}
		}
		if packSigns(got, stored); !slices.Equal(got, want) {
			t.Fatalf("%x, not %x", got, want)
		}
	})
}
