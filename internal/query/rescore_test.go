package query

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
)

// The last chunk is short, and its score falls with the length of a title, whether the query has a word of it or not.
func TestRescoreCountsWordsOfTitleWithoutMatch(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("some other words. ", 60) + "tide"
	title := strings.Repeat("heading ", 20)
	d := indextest.NewStore()
	v := d.Flush(t, 1, []index.DocUpdate{indextest.Update(1, 1, content), indextest.Update(2, 2, "end")})
	q := Parse("tide")
	score := func(title string) float32 {
		r, err := rank(v, d.Fetch, q, index.Filter{}, 0, 1)
		if err != nil || len(r.Hits) != 1 {
			t.Fatal(r.Hits, err)
		}
		r.Rescore(q, r.Hits, []*DocMatches{q.Matcher().MatchDoc(title, content)})
		return r.Hits[0].Score
	}
	if with, without := score(title), score(""); with >= without {
		t.Errorf("with a title %f, without %f", with, without)
	}
	if repeated, without := score(content[:80]), score(""); repeated != without {
		t.Errorf("with a title that repeats the content %f, without %f", repeated, without)
	}
}
