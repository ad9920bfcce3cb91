package query

import (
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestTermsThatASmallSegmentLacksReadNoPage(t *testing.T) {
	t.Parallel()
	// No word is the stem of another one.
	word := func(prefix string, i int) string {
		return prefix + string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676), 'k'})
	}
	w := newModelIndex()
	for i := range 50 {
		w.write(indextest.Update(int64(i+1), int64(i+1), word("held", i)+" boats in "+word("harbour", i)))
	}
	testenv.NoError(t, w.flush(50))
	read := 0
	fetch := func(segment int64, page int) ([]byte, error) {
		read++
		return w.Store.Fetch(segment, page)
	}
	ask := func(text string) Result {
		return testenv.Must(rank(w.snapshot, fetch, Parse(text), index.Filter{}, 0, 10))(t)
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
