package query

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// formatTerms formats the terms of a query with their weights. Expansions are in brackets. A bar separates words.
func formatTerms(q Query) string {
	s := ""
	for i, t := range q.terms {
		if i > 0 && t.wordIndex != q.terms[i-1].wordIndex {
			s += "| "
		}
		if t.expansion != nil {
			t.text += "*" + fmt.Sprint(t.expansion.terms)
		}
		s += fmt.Sprintf("%s:%.2f ", t.text, t.weight)
	}
	return strings.TrimSpace(s)
}

// rewriteQuery returns the query for which a search ranks.
func rewriteQuery(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher, q Query) (Query, error) {
	words := newVocabulary(v, cache, cache.ReadThrough(fetch))
	q, err := words.prepare(q)
	if err != nil {
		return q, err
	}
	rewritten, _, err := words.rewrite(q, func(i int) (bool, error) { return words.contains(q.terms[i].text) })
	return rewritten, err
}

// buildSnapshot returns a snapshot with one memory a line. The last is in the memtable.
func buildSnapshot(t testing.TB, d *indextest.Store, lines ...string) *index.Snapshot {
	t.Helper()
	var list []index.DocUpdate
	for i, line := range lines {
		list = append(list, indextest.Update(int64(i+1), int64(i+1), line))
	}
	n := len(list) - 1
	return d.Flush(t, 1, list[:n]).Apply(list[n:])
}

func TestRewriteQueryCorrectsMisspelledWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines     []string
		rewritten map[string]string
	}{
		{[]string{"the harbour master answers letters", "harbour gates, a café in Kraków, naïveté",
			"резервное копирование ёлка", "letter harbour deployment"}, map[string]string{
			"the harbuor":         "harbour:0.80",
			"the habour":          "harbour:0.80",
			"the arbour":          "harbour:0.80",
			"the garbour":         "harbour:0.80",
			"the wharbour":        "harbour:0.80",
			"the garbuor":         "garbuor:1.00",
			"лёлка":               "ёлка:0.24 елка:0.80",
			"where is рлка":       "рлка:1.00",
			"the harbbour":        "harbour:0.80",
			"the harbovr":         "harbour:0.80",
			"the ahrbour":         "harbour:0.80",
			"the gatse":           "gates:0.24 gate:0.80",
			"the deplyoemnt":      "deployment:0.24 deploy:0.80",
			"the deplymnt":        "deployment:0.24 deploy:0.80",
			"копироваине":         "копироваине:0.30 копирова*[копирование]:1.00",
			"eлкаа":               "eлкаа:1.00",
			"krakow":              "krakow:1.00",
			"kraków":              "kraków:0.30 krakow:0.30 krak*[krakow kraków]:1.00",
			"where is the krakwo": "krakow:0.80",
			"nïaveté":             "naïveté:0.24 naivete:0.24 naivet:0.24 naïv*[naïveté]:0.80",
			"ркзервное":           "резервное:0.24 резерв*[резервное]:0.80",
		}},
		// of the first letter, two words at most are corrected
		{[]string{"harbour deployment schedule", "end"}, map[string]string{
			"garbour feployment dchedule": "harbour:0.80 | " +
				"deployment:0.24 deploy:0.80 harbourdeploy:0.10 | dchedule:0.30 dchedul:1.00 deploymentdchedul:0.10"}},
		// misspelled stop words are dropped
		{[]string{"where the harbour ends", "where the river begins"}, map[string]string{"whree": "where:0.80",
			"is the rivre whree teh harbour": "river:0.80 | teh:1.00 riverteh:0.10 | harbour:1.00 tehharbour:0.10"}},
		// a character that is a word already is added once
		{[]string{"本", "end"}, map[string]string{"本 書本": "本:1.00 | 書本:1.00"}},
	} {
		d := indextest.NewStore()
		v := buildSnapshot(t, d, c.lines...)
		for query, want := range c.rewritten {
			q := testenv.Must(rewriteQuery(v, index.NewCache(0), d.Fetch, Parse(query)))(t)
			testenv.Equal(t, formatTerms(q), want, query)
			if strings.Contains(query, "rivre") && !slices.Equal(q.wordBigrams, [][2]int{{0, 1}, {1, 2}}) {
				t.Errorf("%s: pairs %v", query, q.wordBigrams)
			}
		}
	}
}

func TestSpellingKeepsCorrectWords(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "the harbour master answers letters", "we saw harbours v1234 getHarbour",
		"let tern harbor_gate")
	for _, query := range []string{
		"", "  ", "the harbour", "the arbor", "the letterbox", "the hxrbxur", "let the lte", "get_harbuor",
		"the harbou7", `"harbuor"`, "harbuor-2",
		"the who", "where", "the master answers harbours", "the 数据库", "«harbuor» the",
	} {
		q := Parse(query)
		got, err := rewriteQuery(v, index.NewCache(0), d.Fetch, q)
		if err != nil || !reflect.DeepEqual(got, q) {
			t.Errorf("%s: %s, want %s, %v", query, formatTerms(got), formatTerms(q), err)
		}
		if words, _, err := Search(v, index.NewCache(0), d.Fetch, q, index.Filter{}, 0, 5); err != nil ||
			!reflect.DeepEqual(words, q) {
			t.Errorf("%s: answered for %s, %v", query, formatTerms(words), err)
		}
	}
}

func TestSpellingIgnoresDeletedDocuments(t *testing.T) {
	t.Parallel()
	d, cache := indextest.NewStore(), index.NewCache(1<<20)
	v := buildSnapshot(t, d, "harbour harbour", "harbor", "harbors", "end")
	for _, c := range []struct {
		dead int64
		want string
	}{{0, "harbor:0.80"}, {2, "harbour:0.80"}, {3, "harbour:0.80"}, {1, "harbuor:1.00"}} {
		v = v.Apply([]index.DocUpdate{{Seq: 10 + c.dead, DocAttributes: index.DocAttributes{Memory: c.dead},
			Deleted: true}})
		if q, err := rewriteQuery(v, cache, d.Fetch, Parse("the harbuor")); err != nil || formatTerms(q) != c.want {
			t.Errorf("without %d: %s, want %s, %v", c.dead, formatTerms(q), c.want, err)
		}
	}
}

// searchRewritten returns the memories that a query finds, best first.
func searchRewritten(v *index.Snapshot, d *indextest.Store, query string) (list []int64, err error) {
	_, r, err := Search(v, index.NewCache(0), d.Fetch, Parse(query), index.Filter{}, 0, 9)
	for _, h := range r.Hits {
		list = append(list, h.Memory)
	}
	return list, err
}

func TestUnigramFallbackFindsWordsWithoutParticle(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "책이 두 권 있다", "庭に猫がいる", "東京の図書館", "물 한 잔", "end")
	for _, c := range []struct {
		query, want string
		first       int64
	}{
		{"책을", "책을:1.00 | 책:0.50", 1},
		{"猫は", "猫は:1.00 | 猫:0.50", 2},
		{"図書室", "図書:1.00 | 書室:1.00", 3}, // 書 is part of a bigram that occurs, and 室 does not occur
		{"물을 permit", "물을:1.00 | permit:1.00 | 물:0.50", 4},
		{"はが", "はが:1.00", 0},
	} {
		q, r, err := Search(v, index.NewCache(0), d.Fetch, Parse(c.query), index.Filter{}, 0, 9)
		first := int64(0)
		if len(r.Hits) > 0 {
			first = r.Hits[0].Memory
		}
		if err != nil || formatTerms(q) != c.want || first != c.first {
			t.Errorf("%s: %s, first %d, %v", c.query, formatTerms(q), first, err)
		}
	}
}

func TestPrefixExpansionKeepsMostFrequentTerms(t *testing.T) {
	t.Parallel()
	var list []index.DocUpdate
	var often, seldom []string
	for i := range 40 {
		w := "котик" + "абвгдежз"[2*(i/5):2*(i/5)+2] + "абвгд"[2*(i%5):2*(i%5)+2]
		for range 1 + i%2 {
			n := int64(len(list) + 1)
			list = append(list, indextest.Update(n, n, w))
		}
		if i%2 == 1 {
			often = append(often, w)
		} else {
			seldom = append(seldom, w)
		}
	}
	d := indextest.NewStore()
	q, err := rewriteQuery(d.Flush(t, 1, list[:30]).Apply(list[30:]), index.NewCache(0), d.Fetch, Parse("котики"))
	want := slices.Sorted(slices.Values(append(often, seldom[:maxExpansionTerms-len(often)]...)))
	if err != nil || !slices.Equal(q.terms[len(q.terms)-1].expansion.terms, want) {
		t.Errorf("%s, want %v, %v", formatTerms(q), want, err)
	}
}

func TestPrefixExpansionCountsEachDocumentOnce(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, strings.Repeat("книга книги ", 200), "книги", "море", "небо книгу", "книгой")
	q, r, err := Search(v, index.NewCache(0), d.Fetch, Parse("книга"), index.Filter{}, 0, 9)
	covered, lost := matchedWords(v, d.Fetch, q, r.Hits[0].Memory)
	if err != nil || lost != nil || r.Total != 4 || r.idf[1] != index.IDF(5, 4) || covered != 1 || len(q.terms) != 2 {
		t.Errorf("%s: %+v, %v", formatTerms(q), r, err)
	}
}

func TestMatcherMatchesRewrittenQuery(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	text := strings.Repeat("Лето прошло. ", 40) + "Он читал КНИГИ о море и о étude, nothing else. " +
		strings.Repeat("Лето прошло. ", 40)
	v := buildSnapshot(t, d, text, "The harbour was frozen.", "end")
	q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("книга"))
	if got := q.Match(text).Highlights(); err != nil || !strings.Contains(got[0], "КНИГИ") {
		t.Errorf("got %q, %v", got, err)
	}
	q, err = rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("где études сейчас"))
	if got := q.Match(text).Highlights(); err != nil || !strings.Contains(got[0], "étude") {
		t.Errorf("got %q, %v", got, err)
	}
	q, err = rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("was the harbuor frozen"))
	if matches := q.Match("The harbour was frozen.").matches; err != nil || len(matches) != 2 {
		t.Errorf("got %v, %v", matches, err)
	}
	testenv.Equal(t, q.Match("The harbour was frozen.").bigramCount(q.wordBigrams[0]), 1, "pairs")
}

func TestSpellingUsesTermsOfOneWorkspace(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	cache := index.NewCache(1 << 20)
	mine := buildSnapshot(t, d, "harbor книга", "end")
	before := testenv.Must(rewriteQuery(mine, cache, d.Fetch, Parse("harbuor книгами")))(t)
	other := d.Flush(t, 2, []index.DocUpdate{indextest.Update(1, 1, "harbour harbours книги"),
		indextest.Update(2, 2, "harbour книгам")})
	theirs, _ := rewriteQuery(other, cache, d.Fetch, Parse("harbuor книгами"))
	after, err := rewriteQuery(mine, cache, d.Fetch, Parse("harbuor книгами"))
	if err != nil || !reflect.DeepEqual(after, before) || formatTerms(theirs) == formatTerms(before) {
		t.Errorf("before %s\nafter %s\nother %s, %v", formatTerms(before), formatTerms(after), formatTerms(theirs), err)
	}
}

func TestSearchReportsUnreadablePage(t *testing.T) {
	t.Parallel()
	few, lost := []string{"harbour", "end"}, indextest.NewStore().Fetch
	for query, lines := range map[string][]string{"harbuor": few, "книга": few, "the harbuor": few, "harbour": few,
		"Rechnung": languageSamples["German"]} {
		v := buildSnapshot(t, indextest.NewStore(), lines...)
		_, _, err := Search(v, index.NewCache(0), lost, Parse(query), index.Filter{}, 0, 5)
		_, rewriting := rewriteQuery(v, index.NewCache(0), lost, Parse(query))
		if !errors.Is(err, indextest.ErrNoPage) || query != "harbour" && !errors.Is(rewriting, indextest.ErrNoPage) {
			t.Errorf("%s answered: %v, %v", query, err, rewriting)
		}
	}
}

func FuzzRewriteQuery(f *testing.F) {
	blob := randomSegment()
	for _, piece := range analysistest.Hostile {
		f.Add(piece)
	}
	for _, text := range []string{"deploymnet was forzen", "книга книги", "étude \"harbuor\" x-9", analysistest.Prose} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		s := testenv.Must(index.Open(1, blob.Header, nil))(t)
		fetch := func(_ int64, page int) ([]byte, error) { return blob.Pages[page], nil }
		cache, v := index.NewCache(1<<20), index.NewSnapshot([]*index.Segment{s}).Apply(
			[]index.DocUpdate{indextest.Update(1, 1, text), indextest.Update(2, 2, "книга "+analysistest.Prose)})
		for _, q := range []Query{Parse(text), Parse(strings.ToUpper(text) + " книгами"), Parse(text + "s")} {
			words, _, err := Search(v, cache, fetch, q, index.Filter{}, 0, 5)
			if err != nil || words.size() > maxQuerySize+bigramsPerWord*len(words.unigrams) {
				t.Fatal(err, formatTerms(words), formatTerms(q))
			}
			words.Matcher().MatchDoc(text, analysistest.Prose).MatchedWords()
		}
	})
}

func TestLanguageIsEnglishForListsOfWordsAndNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query          string
		foreign, latin bool
	}{
		{"deployment container registry schedule", false, false}, {"postgres backup retention policy", false, false},
		{"café opening hours", true, false}, {"Где хранится резервная копия PostgreSQL", true, false},
		{"welche Datenbanken werden gesichert", true, true}, {"donde estan las copias", true, true},
		{"où sont les clés chiffrées", true, true}, {"the MIT license of the van", false, false},
	} {
		if q := Parse(c.query); q.expandsWords != c.foreign || q.expandsASCII != c.latin {
			t.Errorf("%s: %v %v", c.query, q.expandsWords, q.expandsASCII)
		}
	}
}

func TestSpellingKeepsCommonWordsAndKnownStems(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "whether the plans of the university have changed", "leather bags, coffers",
		"animated films", "the universe of stars", "the kubernetes cluster", "end")
	for query, expansions := range map[string]int{"weather": 0, "coffee": 0, "weathered": 0,
		"the universities of universal planners": 0, "arnim": 0, "unanimate": 0, "kuber": 1} {
		q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse(query))
		if err != nil || q.Corrections() != nil || len(q.expansionTerms) != expansions ||
			expansions == 0 && formatTerms(q) != formatTerms(Parse(query)) {
			t.Errorf("%s: %s, %v, %v", query, formatTerms(q), q.Corrections(), err)
		}
	}
}

func TestCorrectionsKeepQueryOrder(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "leather bags of the harbour", "end")
	q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("the harbuor of laether and harbuor bags"))
	if err != nil || !slices.Equal(q.Corrections(), []Correction{{"harbuor", "harbour"}, {"laether", "leather"}}) {
		t.Errorf("%v, %v", q.Corrections(), err)
	}
}

func TestCommonWordsAreSorted(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(commonWords, "\n"), "\n")
	if len(lines) < 20_000 || !slices.IsSorted(lines) || !strings.HasSuffix(commonWords, "\n") {
		t.Fatalf("%d lines, sorted: %v", len(lines), slices.IsSorted(lines))
	}
	for _, w := range append(lines, "weathers", "the", "guitars", "para") {
		if !isCommonWord(w) {
			t.Errorf("%q is no common word", w)
		}
	}
	for _, w := range []string{"", "a\n", "zzzz", "aaaa", "wether", "recieve", "weathe", "harbuor", "eather"} {
		if isCommonWord(w) {
			t.Errorf("%q is a common word", w)
		}
	}
}

func TestSpellingKeepsWordWhoseStemEarlierWordHas(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "shards of the index", "sharing", "end")
	for _, query := range []string{"shard sharding", "sharding shard", "sharding", "shards sharding"} {
		q := Parse(query)
		rewritten, r, err := Search(v, index.NewCache(0), d.Fetch, q, index.Filter{}, 0, 5)
		if err != nil || rewritten.Corrections() != nil || len(r.Hits) != 1 ||
			len(r.UnknownWords(rewritten, []string{"shard", "sharding"})) > 1 ||
			slices.Contains(r.UnknownWords(rewritten, q.MisspellingCandidates()), "sharding") {
			t.Errorf("%s: %s, corrected %v, %v", query, formatTerms(rewritten), rewritten.Corrections(), err)
		}
	}
}

func TestUnigramFallbackAppliesToQueriesOfManyBigrams(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "猫", "end")
	for n, want := range map[int]bool{20: true, 60: true, 123: true, 124: true, 125: false, 126: false} {
		query := "猫"
		for i := range rune(n) {
			query += string('一' + i)
		}
		q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse(query))
		if _, got := q.termIndex["猫"]; got != want || q.size() > maxQuerySize || err != nil {
			t.Errorf("%d bigrams: %v, size %d, %v", n, got, q.size(), err)
		}
	}
}
