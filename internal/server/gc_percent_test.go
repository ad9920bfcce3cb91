package server

import "testing"

func TestGCPercentFallsWithHeapSize(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 800, 1 << 20: 800, 8 << 20: 400, 32 << 20: 100, 64 << 20: 50,
		1 << 40: 50} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d live bytes: %d %%, want %d", live, got, want)
		}
	}
}
