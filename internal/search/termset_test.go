package search

import (
	"fmt"
	"testing"
)

func TestTermsThatASmallSegmentLacksReadNoPage(t *testing.T) {
	t.Parallel()
	// No word is the stem of another one.
	word := func(prefix string, i int) string {
		return prefix + string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676), 'k'})
	}
	w := newModelIndex()
	for i := range 50 {
		w.write(textUpdate(int64(i+1), int64(i+1), word("held", i)+" boats in "+word("harbour", i)))
	}
	if err := w.flush(50); err != nil {
		t.Fatal(err)
	}
	read := 0
	fetch := func(segment int64, page int) ([]byte, error) {
		read++
		return w.fakeStore.fetch(segment, page)
	}
	ask := func(text string) Result {
		r, err := w.snapshot.Search(fetch, Parse(text), Filter{}, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i := range 50 {
		for _, x := range []string{word("held", i), word("harbour", i)} {
			if r := ask(x); r.Total != 1 {
				t.Errorf("%s found %d", x, r.Total)
			}
		}
	}
	read = 0
	for i := range 1000 {
		if r := ask(word("absent", i)); r.Total != 0 {
			t.Fatalf("%s found %d", word("absent", i), r.Total)
		}
	}
	if read > 200 {
		t.Errorf("%d of 1000 terms that are not there read a page", read)
	}
}

func TestTermSetsHoldTheirTerms(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7, 8, 3000} {
		s := newTermSet(n)
		for i := range n {
			s.add(fmt.Appendf(nil, "term%d", i))
		}
		passed := 0
		for i := range n {
			if !s.mayHold(fmt.Sprint("term", i)) {
				t.Errorf("term%d of %d is lost", i, n)
			}
			if s.mayHold(fmt.Sprint("other", i)) {
				passed++
			}
		}
		if n > 1000 && passed > n/8 {
			t.Errorf("%d of %d other terms pass", passed, n)
		}
	}
}
