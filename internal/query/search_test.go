package query

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// searchMemories returns the memories that a query finds, best first.
func searchMemories(t *testing.T, v *index.Snapshot, d *indextest.Store, query string) (list []int64) {
	t.Helper()
	r := testenv.Must(rank(v, d.Fetch, Parse(query), index.Filter{}, 0, 100))(t)
	for _, h := range r.Hits {
		list = append(list, h.Memory)
	}
	return list
}

func TestApplyKeepsHighestSeqInAnyOrder(t *testing.T) {
	t.Parallel()
	rows := []index.DocUpdate{indextest.Update(1, 7, "apple"), indextest.Update(2, 7, "banana"),
		{Seq: 3, DocAttributes: index.DocAttributes{Memory: 8}, Deleted: true}, indextest.Update(4, 9, "cherry")}
	d := indextest.NewStore()
	base := d.Flush(t, 1, []index.DocUpdate{indextest.Update(0, 7, "quince"), indextest.Update(0, 8, "banana")})
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {1, 1, 0, 2, 3}} {
		v := base
		for _, i := range order {
			v = v.Apply(rows[i : i+1])
		}
		if got := searchMemories(t, v, d, "apple banana cherry quince"); len(got) != 2 || v.LiveDocs() != 2 {
			t.Errorf("%v: %v of %d documents", order, got, v.LiveDocs())
		}
		if got := searchMemories(t, v, d, "banana"); !slices.Equal(got, []int64{7}) {
			t.Errorf("%v: banana gives %v, want 7", order, got)
		}
		if seqs := slices.Sorted(slices.Values(v.AppliedSeqs())); !slices.Equal(seqs, []int64{1, 2, 3, 4}) {
			t.Errorf("%v: seqs %v", order, seqs)
		}
		testenv.Equal(t, v.Apply(rows), v, order)
	}
}

func TestSnapshotsOfOneParentAreIsolated(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	parent := index.NewSnapshot(nil).Apply([]index.DocUpdate{indextest.Update(1, 1, "shared one")})
	left := parent.Apply([]index.DocUpdate{indextest.Update(2, 2, "shared left"), indextest.Update(3, 1, "changed")})
	right := parent.Apply([]index.DocUpdate{indextest.Update(4, 3, "shared right")})
	for _, c := range []struct {
		name string
		view *index.Snapshot
		want []int64
	}{{"parent", parent, []int64{1}}, {"left", left, []int64{2}}, {"right", right, []int64{1, 3}}} {
		testenv.EqualSlices(t, slices.Sorted(slices.Values(searchMemories(t, c.view, d, "shared"))), c.want, c.name)
	}
}

func TestSnapshotIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := d.Flush(t, 1, []index.DocUpdate{indextest.Update(1, 1, "alpha beta"), indextest.Update(2, 2, "alpha")})
	fetch := index.NewCache(1 << 10).ReadThrough(d.Fetch)
	want, _ := rank(v, fetch, Parse("alpha beta"), index.Filter{}, 0, 10)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			next := v
			for i := range 50 {
				seq := int64(100 + worker*100 + i)
				next = next.Apply([]index.DocUpdate{indextest.Update(seq, seq, "alpha gamma")})
				got, err := rank(v, fetch, Parse("alpha beta"), index.Filter{}, 0, 10)
				if err != nil || !sameResult(got, want) {
					t.Errorf("the old view gives %+v, %v", got, err)
				}
				if r, err := rank(next, fetch, Parse("gamma"), index.Filter{}, 0, 1); err != nil || r.Total != i+1 {
					t.Errorf("the new view finds %d of %d, %v", r.Total, i+1, err)
				}
			}
		})
	}
	all.Wait()
}

func TestSearchRanksExpiredDocumentsLower(t *testing.T) {
	t.Parallel()
	old, young := indextest.Update(1, 1, "apple"), indextest.Update(2, 2, "apple")
	old.ValidUntil = 50
	v := index.NewSnapshot(nil).Apply([]index.DocUpdate{old, young})
	r, err := rank(v, indextest.NewStore().Fetch, Parse("apple"), index.Filter{}, 50, 5)
	if err != nil || r.Hits[0].Memory != 2 || r.Hits[1].Score != r.Hits[0].Score*.8 {
		t.Errorf("%+v, %v", r, err)
	}
}

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

func TestTopNKeepsBestInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 200).Draw(t, "k")
		scores := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 1000).Draw(t, "scores")
		minScore := float32(rapid.IntRange(0, 50).Draw(t, "least score"))
		memory := func(x scoredDoc) int64 { return int64(int(x.doc) * 7919 % len(scores)) }
		list := topN{memoryOf: memory}
		list.reset(k, minScore)
		all := make([]Hit, len(scores))
		for i, n := range scores {
			x := scoredDoc{uint32(i), float32(n)}
			list.add(x)
			all[i] = Hit{Memory: memory(x), Score: x.score}
		}
		all = slices.DeleteFunc(all, func(h Hit) bool { return h.Score < minScore })
		list.trim()
		got := make([]Hit, len(list.list))
		for i, x := range list.list {
			got[i] = Hit{Memory: memory(x), Score: x.score}
		}
		SortHits(got)
		SortHits(all)
		if want := all[:min(k, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("the best %d of %v are %v", k, all, got)
		}
	})
}

func TestMaxPerMemoryLowersExpiredAndRaisesVerified(t *testing.T) {
	t.Parallel()
	for _, score := range []float32{.5, -.5} {
		hits := MaxPerMemory([]Hit{{Memory: 1, Score: score, stateFactor: expiredFactor},
			{Memory: 2, Score: score, stateFactor: 1}, {Memory: 3, Score: score, stateFactor: verifiedFactor}})
		for i, want := range []int64{3, 2, 1} {
			if hits[i].Memory != want || hits[i].rawScore() != score {
				t.Errorf("hit %d of scores %f is %+v", i, score, hits[i])
			}
		}
	}
}

// A search of one atlas ranks as in a workspace of its own. Segments, memtable and other atlases do not matter.
func TestSearchUsesStatisticsOfOneAtlas(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5))
	whole, alone := newModelIndex(), newModelIndex()
	for i := range 60 {
		c := randomUpdate(r)
		c.Memory, c.Deleted, c.Atlas = int64(i), false, int64(i%2)
		c.Document = index.Analyze("", randomText(r, 1+r.IntN(60)))
		whole.write(c)
		if c.Atlas == 1 {
			alone.write(c)
		}
		if i == 20 {
			testenv.NoError(t, whole.flush(len(whole.changes)))
		}
	}
	whole.write(index.DocUpdate{DocAttributes: index.DocAttributes{Memory: 7, Atlas: 1}, Deleted: true})
	alone.write(index.DocUpdate{DocAttributes: index.DocAttributes{Memory: 7, Atlas: 1}, Deleted: true})
	for _, w := range []*modelIndex{whole, alone} {
		testenv.NoError(t, w.flush(len(w.changes)/2))
	}
	for range 60 {
		text := randomText(r, 1+r.IntN(5))
		f := index.Filter{Atlases: []int64{1}}
		_, got, err := Search(whole.snapshot, index.NewCache(1<<20), whole.Fetch, Parse(text), f, 0, 20)
		_, want, other := Search(alone.snapshot, index.NewCache(1<<20), alone.Fetch, Parse(text), index.Filter{}, 0, 20)
		if err != nil || other != nil || !sameResult(got, want) {
			t.Fatalf("%q, %v, %v:\ngot  %+v\nwant %+v", text, err, other, got, want)
		}
	}
}

// minScopeDocs is the number of documents from which on an atlas has statistics of its own.
const minScopeDocs = 16

// Words of another atlas do not correct misspelled ones, and do not decide about the language.
func TestSearchUsesVocabularyOfOneAtlas(t *testing.T) {
	t.Parallel()
	var list []index.DocUpdate
	for i := range 4 * minScopeDocs {
		lines, atlas := languageSamples["German"], int64(1)
		if i%4 > 0 {
			lines, atlas = languageSamples["English"], 2
		}
		c := indextest.Update(int64(i+1), int64(i+1), lines[i/4%len(lines)])
		c.Atlas = atlas
		list = append(list, c)
	}
	d := indextest.NewStore()
	v := d.Flush(t, 1, list[:3*minScopeDocs]).Apply(list[3*minScopeDocs:])
	for atlas, widened := range map[int64]bool{1: true, 2: false} {
		q, _, err := Search(v, index.NewCache(0), d.Fetch, Parse("Rechnung Lieferant"),
			index.Filter{Atlases: []int64{atlas}}, 0, 3)
		if err != nil || len(q.expansionTerms) > 0 != widened {
			t.Errorf("atlas %d: %s, %v", atlas, formatTerms(q), err)
		}
	}
	_, r, err := Search(v, index.NewCache(0), d.Fetch, Parse("Kantime"), index.Filter{Atlases: []int64{2}}, 0, 3)
	if err != nil || r.Total > 0 {
		t.Errorf("a word of another atlas repairs one: %v, %v", r.Hits, err)
	}
}

func TestParseWeakensStopWordsOfQueryLanguage(t *testing.T) {
	t.Parallel()
	for query, stops := range map[string][]string{
		"Сколько очков уступила защита":      {"сколько"},
		"Dónde están las facturas nuevas":    {"dónde", "están", "las"},
		"Wo liegen die Rechnungen vom Juni":  {"wo", "die", "vom"},
		`Wo liegt "die Rechnungen" vom Juni`: {"wo", "vom"},
		"Πότε άνοιξε το λιμάνι":              {"πότε", "το"},
		"what is the French word que":        nil,
		"que des les":                        nil,
		"invoices of the die maker":          nil,
	} {
		q := Parse(query)
		for _, term := range q.terms {
			low := term.weight == stopWordWeight || term.weight == float32(surfaceFormWeight*stopWordWeight) ||
				term.weight == float32(joinedWordWeight*stopWordWeight)
			if head := q.terms[slices.IndexFunc(q.terms, func(x queryTerm) bool {
				return x.wordIndex == term.wordIndex
			})]; low != slices.Contains(stops, head.text) {
				t.Errorf("%s: %q has the weight %v", query, term.text, term.weight)
			}
		}
	}
}
