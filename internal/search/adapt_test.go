package search

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// spelled writes the terms of a query: weights behind them, families in brackets,
// a bar between words.
func spelled(q Query) string {
	s := ""
	for i, t := range q.terms {
		if i > 0 && t.group != q.terms[i-1].group {
			s += "| "
		}
		if t.kin != nil {
			t.text += "*" + fmt.Sprint(t.kin.words)
		}
		s += fmt.Sprintf("%s:%.2f ", t.text, t.weight)
	}
	return strings.TrimSpace(s)
}

// library is a view of one memory a line, folded but for the last.
func library(t testing.TB, d *disk, lines ...string) *View {
	t.Helper()
	var list []Change
	for i, line := range lines {
		list = append(list, note(int64(i+1), int64(i+1), line))
	}
	n := len(list) - 1
	return folded(t, d, 1, list[:n]).With(list[n:])
}

func TestMisspelledWordsAreRepaired(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "the harbour master answers letters", "harbour gates, a café in Kraków, naïveté", "резервное копирование ёлка", "letter harbour deployment")
	for _, c := range []struct{ query, want string }{
		{"the harbuor", "harbour:0.80"},
		{"the habour", "harbour:0.80"},
		{"the arbour", "harbour:0.80"},
		{"the garbour", "harbour:0.80"},
		{"the wharbour", "harbour:0.80"},
		{"the garbuor", "garbuor:1.00"},
		{"лёлка", "ёлка:0.24 елка:0.80"},
		{"where is рлка", "рлка:1.00"},
		{"the harbbour", "harbour:0.80"},
		{"the harbovr", "harbour:0.80"},
		{"the ahrbour", "harbour:0.80"},
		{"the gatse", "gates:0.24 gate:0.80"},
		{"the deplyoemnt", "deployment:0.24 deploy:0.80"},
		{"the deplymnt", "deployment:0.24 deploy:0.80"},
		{"копироваине", "копироваине:0.30 копирова*[копирование]:1.00"},
		{"eлкаа", "eлкаа:1.00"},
		{"krakow", "krakow:1.00"},
		{"kraków", "kraków:0.30 krakow:0.30 krak*[krakow kraków]:1.00"},
		{"where is the krakwo", "krakow:0.80"},
		{"nïaveté", "naïveté:0.24 naivete:0.24 naivet:0.24 naïv*[naïveté]:0.80"},
		{"ркзервное", "резервное:0.24 резерв*[резервное]:0.80"},
	} {
		got, err := v.Adapt(NewCache(0), d.fetch, Parse(c.query))
		if err != nil || spelled(got) != c.want {
			t.Errorf("%s: %s, want %s, %v", c.query, spelled(got), c.want, err)
		}
	}
}

func TestWhatIsNotMisspelledStaysAsItIs(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "the harbour master answers letters", "we saw harbours v1234 getHarbour", "let tern harbor_gate")
	for _, query := range []string{
		"", "  ", "the harbour", "the arbor", "the letterbox", "the hxrbxur", "let the lte", "get_harbuor", "the harbou7", `"harbuor"`, "harbuor-2",
		"the who", "where", "the master answers harbours", "the 数据库", "«harbuor» the",
	} {
		q := Parse(query)
		got, err := v.Adapt(NewCache(0), d.fetch, q)
		if err != nil || !reflect.DeepEqual(got, q) {
			t.Errorf("%s: %s, want %s, %v", query, spelled(got), spelled(q), err)
		}
		if words, _, err := v.Answer(NewCache(0), d.fetch, q, Filter{}, 0, 5); err != nil || !reflect.DeepEqual(words, q) {
			t.Errorf("%s: answered for %s, %v", query, spelled(words), err)
		}
	}
}

func TestOfFewWordsTheFirstLetterIsDoubted(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "harbour deployment schedule", "end")
	q, err := v.Adapt(NewCache(0), d.fetch, Parse("garbour feployment dchedule"))
	if err != nil || spelled(q) != "harbour:0.80 | deployment:0.24 deploy:0.80 harbourdeploy:0.10 | dchedule:0.30 dchedul:1.00 deploymentdchedul:0.10" {
		t.Errorf("%s, %v", spelled(q), err)
	}
}

func TestAMisspelledStopWordAsksForNothing(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "where the harbour ends", "where the river begins")
	q, err := v.Adapt(NewCache(0), d.fetch, Parse("is the rivre whree teh harbour"))
	if err != nil || spelled(q) != "river:0.80 | teh:1.00 riverteh:0.10 | harbour:1.00 tehharbour:0.10" || !slices.Equal(q.pairs, [][2]int{{0, 1}, {1, 2}}) {
		t.Errorf("%s %v, %v", spelled(q), q.pairs, err)
	}
	if q, err = v.Adapt(NewCache(0), d.fetch, Parse("whree")); err != nil || spelled(q) != "where:0.80" {
		t.Errorf("alone: %s, %v", spelled(q), err)
	}
}

func TestTheDeadAreNobodysWord(t *testing.T) {
	t.Parallel()
	d, cache := newDisk(), NewCache(1<<20)
	v := library(t, d, "harbour harbour", "harbor", "harbors", "end")
	for _, c := range []struct {
		dead int64
		want string
	}{{0, "harbor:0.80"}, {2, "harbour:0.80"}, {3, "harbour:0.80"}, {1, "harbuor:1.00"}} {
		v = v.With([]Change{{Seq: 10 + c.dead, Attributes: Attributes{Memory: c.dead}, Gone: true}})
		if q, err := v.Adapt(cache, d.fetch, Parse("the harbuor")); err != nil || spelled(q) != c.want {
			t.Errorf("without %d: %s, want %s, %v", c.dead, spelled(q), c.want, err)
		}
	}
}

// answer is the memories that a query finds, best first.
func answer(v *View, d *disk, query string) (list []int64, err error) {
	_, r, err := v.Answer(NewCache(0), d.fetch, Parse(query), Filter{}, 0, 9)
	for _, h := range r.Hits {
		list = append(list, h.Memory)
	}
	return list, err
}

func TestFamiliesFindInflectedWords(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "Он читал книги о программах.", "Проекты и программа", "die Straßenbahn der Straßen", "one table, some tables, a tableau", "Книга", "с историями")
	for _, c := range []struct {
		query string
		want  []int64
	}{
		{"программу", []int64{2, 1}},
		{"программами", []int64{2, 1}},
		{"книгами", []int64{5, 1}},
		{"straße", []int64{3}},
		{"tisch tabel mensa", []int64{4}},
		{"проектов", []int64{2}},
		{"where is the tableau of it", []int64{4}},
		{"what are the straße", []int64{3}},
		{"история", []int64{6}},
	} {
		got, err := answer(v, d, c.query)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s finds %v, want %v, %v", c.query, got, c.want, err)
		}
	}
}

func TestTwoWordsAndTheDashBetweenThemAreOneWordToo(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "Send an e-mail to the back-end team.", "The email of the backend", "Sign-ins by the login page", "Mail ends here", "Онлайн-курс по садоводству")
	for _, c := range []struct {
		query string
		want  []int64
	}{
		{"email", []int64{2, 1}},
		{"emails", []int64{2, 1}},
		{"e-mails", []int64{1, 2, 4}},
		{"backend", []int64{2, 1}},
		{"back-end", []int64{1, 2, 4}},
		{"log-in", []int64{3}},
		{"signin", []int64{3}},
		{"онлайнкурс", []int64{5}},
	} {
		got, err := answer(v, d, c.query)
		slices.Sort(got)
		slices.Sort(c.want)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s finds %v, want %v, %v", c.query, got, c.want, err)
		}
	}
}

func TestAWordOfOneSignIsFoundWithoutItsParticle(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "책이 두 권 있다", "庭に猫がいる", "東京の図書館", "물 한 잔", "end")
	for _, c := range []struct {
		query, want string
		first       int64
	}{
		{"책을", "책을:1.00 | 책:0.50", 1},
		{"猫は", "猫は:1.00 | 猫:0.50", 2},
		{"図書室", "図書:1.00 | 書室:1.00", 3}, // a pair of 書 is known, and 室 is not
		{"물을 permit", "물을:1.00 | permit:1.00 | 물:0.50", 4},
		{"はが", "はが:1.00", 0},
	} {
		q, r, err := v.Answer(NewCache(0), d.fetch, Parse(c.query), Filter{}, 0, 9)
		first := int64(0)
		if len(r.Hits) > 0 {
			first = r.Hits[0].Memory
		}
		if err != nil || spelled(q) != c.want || first != c.first {
			t.Errorf("%s: %s, first %d, %v", c.query, spelled(q), first, err)
		}
	}
}

func TestALargeFamilyHasItsMostFrequentWords(t *testing.T) {
	t.Parallel()
	var list []Change
	var often, seldom []string
	for i := range 40 {
		w := "котик" + string("абвгдежз"[2*(i/5):2*(i/5)+2]) + string("абвгд"[2*(i%5):2*(i%5)+2])
		for range 1 + i%2 {
			n := int64(len(list) + 1)
			list = append(list, note(n, n, w))
		}
		if i%2 == 1 {
			often = append(often, w)
		} else {
			seldom = append(seldom, w)
		}
	}
	d := newDisk()
	q, err := folded(t, d, 1, list[:30]).With(list[30:]).Adapt(NewCache(0), d.fetch, Parse("котики"))
	want := slices.Sorted(slices.Values(append(often, seldom[:familyWords-len(often)]...)))
	if err != nil || !slices.Equal(q.terms[len(q.terms)-1].kin.words, want) {
		t.Errorf("%s, want %v, %v", spelled(q), want, err)
	}
}

func TestAFamilyCountsEachDocumentOnce(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, strings.Repeat("книга книги ", 200), "книги", "море", "небо книгу", "книгой")
	q, r, err := v.Answer(NewCache(0), d.fetch, Parse("книга"), Filter{}, 0, 9)
	covered, lost := v.covered(d.fetch, q, r.Hits[0].Memory)
	if err != nil || lost != nil || r.Total != 4 || r.idf[1] != idf(5, 4) || covered != 1 || len(q.terms) != 2 {
		t.Errorf("%s: %+v, %v", spelled(q), r, err)
	}
}

func TestTextsAreReadForWhatWasMeant(t *testing.T) {
	t.Parallel()
	d := newDisk()
	text := strings.Repeat("Лето прошло. ", 40) + "Он читал КНИГИ о море и о étude, nothing else. " + strings.Repeat("Лето прошло. ", 40)
	v := library(t, d, text, "The harbour was frozen.", "end")
	q, err := v.Adapt(NewCache(0), d.fetch, Parse("книга"))
	if got := q.Read(text).Highlights(); err != nil || !strings.Contains(got[0], "КНИГИ") {
		t.Errorf("got %q, %v", got, err)
	}
	q, err = v.Adapt(NewCache(0), d.fetch, Parse("где études сейчас"))
	if got := q.Read(text).Highlights(); err != nil || !strings.Contains(got[0], "étude") {
		t.Errorf("got %q, %v", got, err)
	}
	q, err = v.Adapt(NewCache(0), d.fetch, Parse("was the harbuor frozen"))
	if spots := q.Read("The harbour was frozen.").spots; err != nil || len(spots) != 2 {
		t.Errorf("got %v, %v", spots, err)
	}
	if n := q.Read("The harbour was frozen.").pair(q.pairs[0]); n != 1 {
		t.Errorf("%d pairs", n)
	}
}

func TestDistancesAreThoseOfTheDefinition(t *testing.T) {
	t.Parallel()
	letters := rapid.SliceOfN(rapid.SampledFrom([]rune("abбв")), 1, 7)
	rapid.Check(t, func(t *rapid.T) {
		word := append([]rune("ab"), letters.Draw(t, "word")...)
		terms := rapid.SliceOfN(rapid.Map(letters, func(r []rune) string { return string(r) }), 1, 40).Draw(t, "terms")
		if rapid.Bool().Draw(t, "in order") {
			slices.Sort(terms)
		}
		s := newSpeller(string(word))
		for _, x := range terms {
			got, want := s.distance([]byte(x)), alignment(word, []rune(x))
			if got != want && (got <= s.most || want <= s.most) {
				t.Fatalf("%s to %s: %d, want %d", x, string(word), got, want)
			}
		}
	})
}

func TestAWorkspaceKnowsNoWordOfAnother(t *testing.T) {
	t.Parallel()
	d := newDisk()
	cache := NewCache(1 << 20)
	mine := library(t, d, "harbor книга", "end")
	before, err := mine.Adapt(cache, d.fetch, Parse("harbuor книгами"))
	if err != nil {
		t.Fatal(err)
	}
	other := folded(t, d, 2, []Change{note(1, 1, "harbour harbours книги"), note(2, 2, "harbour книгам")})
	theirs, _ := other.Adapt(cache, d.fetch, Parse("harbuor книгами"))
	after, err := mine.Adapt(cache, d.fetch, Parse("harbuor книгами"))
	if err != nil || !reflect.DeepEqual(after, before) || spelled(theirs) == spelled(before) {
		t.Errorf("before %s\nafter %s\nother %s, %v", spelled(before), spelled(after), spelled(theirs), err)
	}
}

func TestAdaptReportsAPageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	v := library(t, newDisk(), "harbour", "end")
	for _, query := range []string{"harbuor", "книга", "the harbuor"} {
		if _, err := v.Adapt(NewCache(0), newDisk().fetch, Parse(query)); !errors.Is(err, errNoPage) {
			t.Errorf("%s: %v", query, err)
		}
		if _, _, err := v.Answer(NewCache(0), newDisk().fetch, Parse(query), Filter{}, 0, 5); !errors.Is(err, errNoPage) {
			t.Errorf("%s answered: %v", query, err)
		}
	}
}

func FuzzAdapt(f *testing.F) {
	blob := someSegment()
	for _, piece := range hostile {
		f.Add(piece)
	}
	for _, text := range []string{"deploymnet was forzen", "книга книги", "étude \"harbuor\" x-9", prose} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		s, err := Open(1, blob.Head, nil)
		if err != nil {
			t.Fatal(err)
		}
		fetch := func(_ int64, page int) ([]byte, error) { return blob.Pages[page], nil }
		cache, v := NewCache(1<<20), NewView([]*Segment{s}).With([]Change{note(1, 1, text), note(2, 2, "книга "+prose)})
		for _, q := range []Query{Parse(text), Parse(strings.ToUpper(text) + " книгами"), Parse(text + "s")} {
			words, _, err := v.Answer(cache, fetch, q, Filter{}, 0, 5)
			if err != nil || words.size() > maxSize+pairsPerWord*len(words.glyphs) {
				t.Fatal(err, spelled(words), spelled(q))
			}
			words.Reader().Text(text, prose).Covered()
		}
	})
}

func TestListsOfEnglishWordsAndNamesAreEnglish(t *testing.T) {
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
		if q := Parse(c.query); q.foreign != c.foreign || q.latin != c.latin {
			t.Errorf("%s: %v %v", c.query, q.foreign, q.latin)
		}
	}
}

func TestEverydayWordsAndKnownStemsAreNotCorrected(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "whether the plans of the university have changed", "leather bags, coffers", "animated films", "the universe of stars", "end")
	for _, query := range []string{"weather", "coffee", "weathered", "the universities of universal planners", "arnim", "unanimate"} {
		q, err := v.Adapt(NewCache(0), d.fetch, Parse(query))
		if err != nil || q.Corrected() != nil || spelled(q) != spelled(Parse(query)) {
			t.Errorf("%s: %s, %v, %v", query, spelled(q), q.Corrected(), err)
		}
	}
}

func TestCorrectionsAreToldInTheirOrder(t *testing.T) {
	t.Parallel()
	d := newDisk()
	v := library(t, d, "leather bags of the harbour", "end")
	q, err := v.Adapt(NewCache(0), d.fetch, Parse("the harbuor of laether and harbuor bags"))
	if err != nil || !slices.Equal(q.Corrected(), []Correction{{"harbuor", "harbour"}, {"laether", "leather"}}) {
		t.Errorf("%v, %v", q.Corrected(), err)
	}
}

func TestCommonWordsAreListedInOrder(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(commonWords, "\n"), "\n")
	if len(lines) < 20_000 || !slices.IsSorted(lines) || !strings.HasSuffix(commonWords, "\n") {
		t.Fatalf("%d lines, sorted: %v", len(lines), slices.IsSorted(lines))
	}
	for _, w := range append(lines, "weathers", "the", "guitars", "para") {
		if !isCommon(w) {
			t.Errorf("%q is no common word", w)
		}
	}
	for _, w := range []string{"", "a\n", "zzzz", "aaaa", "wether", "recieve", "weathe", "harbuor", "eather"} {
		if isCommon(w) {
			t.Errorf("%q is a common word", w)
		}
	}
}
