package index

import (
	"fmt"
	"testing"
)

func TestTermSetsHoldTheirTerms(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7, 8, 3000} {
		f := newBloomFilter(n)
		for i := range n {
			f.add(fmt.Appendf(nil, "term%d", i))
		}
		passed := 0
		for i := range n {
			if !f.mayContain(HashTerm(fmt.Sprint("term", i))) {
				t.Errorf("term%d of %d is lost", i, n)
			}
			if f.mayContain(HashTerm(fmt.Sprint("other", i))) {
				passed++
			}
		}
		if n > 1000 && passed > n/8 {
			t.Errorf("%d of %d other terms pass", passed, n)
		}
	}
}
