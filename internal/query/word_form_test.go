package query

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestLightStemFindsWordsWithAndWithoutPrefix(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"اجتماع", "الاجتماع"}, {"بيانات", "البيانات"}, {"كتاب", "الكتاب"}, {"كتب", "الكتب"}, {"مدرسة", "والمدرسة"},
		{"بيانات", "للبيانات"}, {"أعضاء", "بالأعضاء"},
		{"وزارة", "الوزارة"}, {"ספר", "הספר"}, {"ספר", "בספר"}, {"ישיבה", "שהישיבה"}, {"מהנדס", "המהנדס"},
	} {
		for _, x := range [][2]string{c, {c[1], c[0]}} {
			text := "123 " + x[0] + " 456"
			d, q := index.Analyze("", text), Parse(x[1])
			if coveredWords(d, q) != 1 || q.wordCount != 1 || d.Length != 3 {
				t.Errorf("%s does not find %s: %v in %v", x[1], x[0], q.terms, d)
			}
			if got := q.Match(text).matches; len(got) != 1 || text[got[0].from:got[0].to] != x[0] {
				t.Errorf("%s is not read in %s: %v", x[1], x[0], got)
			}
		}
	}
}

func TestPrefixExpansionSkipsArabicPrefix(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"والاجتماعات": "اجتما", "الأعضاء": "اعضا", "الكتب": "الكت", "ألمانيا": "ألما", "הספרים": "הספר",
		"собрание": "собра",
	} {
		testenv.Equal(t, newPrefixExpansion(word).prefix, want, word)
	}
}

func TestPhoneNumbersFindEachOtherHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, forms := range [][]string{
		{"+49 30 1234567", "+49-30-123-4567", "030 1234567", "(030) 123 45 67", "+49 (0)30 1234567", "+49301234567",
			"030/1234567", "030 / 123-4567", "0301234567",
			"0049 30 1234567", "+49 30\u00a0123\u202f45\u202f67", "+49.30.1234567", "030 1234-567", "1234567",
			"123 45 67", "123-45-67", "030‑123‑4567"},
		{"+1 (555) 123-0199", "555-123-0199", "(555) 123-0199", "555 123 0199", "555.123.0199 or +1 555 123 0199",
			"1230199"},
		{"01 23 45 67 89", "+33 1 23 45 67 89", "01.23.45.67.89", "0033 1 23456789"},
	} {
		for _, text := range forms {
			d := indextest.NewStore()
			v := buildSnapshot(t, d, "something else and more", "call "+text+", please", "end of it in 30 days",
				"more of it", "and with this from you")
			for _, query := range forms {
				if got, err := searchRewritten(v, d, query); err != nil || len(got) == 0 || got[0] != 2 {
					t.Errorf("%q: %s finds %v, %v", text, query, got, err)
				}
			}
		}
	}
}

func TestPhoneNumbersAreMarkedInTexts(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"+49 30 1234567", "(030) 123 45 67"} {
		m := Parse(query).Match("call 1234567 now")
		if len(m.matches) != 1 || m.text[m.matches[0].from:m.matches[0].to] != "1234567" {
			t.Errorf("%s: %+v, want the number", query, m.matches)
		}
	}
	m := Parse("1234567").Match("call (030) 123 45 67 now")
	if len(m.matches) != 1 || m.text[m.matches[0].from:m.matches[0].to] != "67" {
		t.Errorf("%+v, want the last digits", m.matches)
	}
}

func TestSearchFindsJoinedAndSplitSpellings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		queries []string
	}{
		{"set max_shards to five", []string{"maxshards", "maxShards", "max-shards", "max_shards", "max shards",
			"MAXSHARDS"}},
		{"set maxshards to five", []string{"max_shards", "maxShards", "max-shards", "max shards"}},
		{"set maxShards to five", []string{"max_shards", "maxshards", "max-shards"}},
		{"runs on node.js today", []string{"nodejs", "NodeJS", "node js", "node-js"}},
		{"runs on nodejs today", []string{"node.js", "Node.js", "node js"}},
		{"a white box test", []string{"whitebox", "white-box", "Whitebox"}},
		{"a whitebox test", []string{"white box", "white-box"}},
		{"a white-box test", []string{"white box", "whitebox"}},
		{"call it with --dry-run first", []string{"dryrun", "dry-run", "--dry-run", "dry run", "dry_run"}},
		{"a dryrun first", []string{"--dry-run", "dry run"}},
		{"call 555-0123 now", []string{"5550123", "555-0123"}},
		{"call 5550123 now", []string{"555-0123"}},
		{"fixed in 4f2a9c1d5b6e7f8091a2b3c4d5e6f708192a3b4c", []string{"4f2a9c1", "4f2a9c1d5b", "4F2A9C1"}},
		{"fixed in 4f2a9c1", []string{"4f2a9c1d5b6e7f8091a2b3c4d5e6f708192a3b4c", "4f2a9c1d5"}},
		{"id 550e8400-e29b-41d4-a716-446655440000", []string{"550e8400e29b41d4a716446655440000"}},
	} {
		d := indextest.NewStore()
		v := buildSnapshot(t, d, "something else and more", c.text, "end of it", "more of it", "and with this from you")
		for _, query := range c.queries {
			if got, err := searchRewritten(v, d, query); err != nil || len(got) == 0 || got[0] != 2 {
				t.Errorf("%q: %s finds %v, %v", c.text, query, got, err)
			}
		}
	}
}

func TestBreakWordNeedsDocumentWithBothParts(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "a red house", "a boat and a house by the sea", "a row of boats", "end of it")
	q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("boathouse redboat"))
	if err != nil || !slices.Equal(q.Corrections(), []Correction{{"boathouse", "boat house"}}) ||
		len(q.wordBigrams) == 0 {
		t.Errorf("%v, %v, %v", q.Corrections(), q.wordBigrams, err)
	}
	if v = v.Apply([]index.DocUpdate{{Seq: 9, DocAttributes: index.DocAttributes{Memory: 2}, Deleted: true}}); true {
		if q, err = rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("boathouse")); err != nil ||
			q.Corrections() != nil {
			t.Errorf("of the dead: %v, %v", q.Corrections(), err)
		}
	}
}

// TestSearchFindsOtherFormsOfWords lists the memories that queries find, in the order of their ids.
func TestSearchFindsOtherFormsOfWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		finds map[string][]int64
	}{
		"an unknown word stands for those that begin with it": {[]string{"Das Datensicherungskonzept liegt bereit",
			"the kubernetes cluster and with this", "Fahrradversicherungen, Fahrrad",
			"call configMapGenerator from you", "Противопожарная защита", "if this returns true", "a house from here",
			"and more of this"},
			map[string][]int64{"Datensicherung": {1}, "where is the datensicherung": {1}, "kuber": {2}, "Fahrrad": {3},
				"Fahrradvers": {3}, "configMap": {4}, "configmap": {4}, "противопожар": {5}, "hous": {7}, "kube": nil,
				"\"kuber\"": nil, "sicherung": nil}},
		"inflected words": {[]string{"Он читал книги о программах.", "Проекты и программа",
			"die Straßenbahn der Straßen", "one table, some tables, a tableau", "Книга", "с историями"},
			map[string][]int64{"программу": {1, 2}, "программами": {1, 2}, "книгами": {1, 5}, "straße": {3},
				"tisch tabel mensa": {4}, "проектов": {2}, "where is the tableau of it": {4},
				"what are the straße": {3}, "история": {6}}},
		"hyphenated pairs": {[]string{"Send an e-mail to the back-end team.", "The email of the backend",
			"Sign-ins by the login page", "Mail ends here", "Онлайн-курс по садоводству"},
			map[string][]int64{"email": {1, 2}, "emails": {1, 2}, "e-mails": {1, 2, 4}, "backend": {1, 2},
				"back-end": {1, 2, 4}, "log-in": {3}, "signin": {3}, "онлайнкурс": {5}}},
		"separate numbers": {[]string{"version 1.2.3 of it", "a ratio of 3.14", "v1.4 came", "in a/b.go", "end of it"},
			map[string][]int64{"123": nil, "314": nil, "abgo": nil}},
	} {
		d := indextest.NewStore()
		v := buildSnapshot(t, d, c.lines...)
		for query, want := range c.finds {
			got := testenv.Must(searchRewritten(v, d, query))(t)
			testenv.EqualSlices(t, slices.Sorted(slices.Values(got)), want, name, query)
		}
	}
}

func TestSearchRanksNearestFormFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query string
		lines []string
		first int64
	}{
		{"программу", []string{"Он читал книги о программах.", "Проекты и программа", "end"}, 2},
		{"программами", []string{"Он читал книги о программах.", "Проекты и программа", "end"}, 2},
		{"книгами", []string{"Он читал книги о программах.", "end", "Книга"}, 3},
		{"email", []string{"Send an e-mail to the back-end team.", "The email of the backend", "end"}, 2},
		{"apple cherry cherry", []string{"apple pie", "cherry pie", "plum pie", "end of it"}, 2},
		{"apple apple cherry", []string{"apple pie", "cherry pie", "plum pie", "end of it"}, 1},
		{"plums, cherry, plum", []string{"apple pie", "cherry pie", "plum pie", "end of it"}, 3},
		{"cherries and apples and a cherry", []string{"apple pie", "cherry pie", "plum pie", "end of it"}, 2},
		{"apple plum cherry cherry cherry ", []string{"apple pie", "cherry pie", "plum pie", "end of it"}, 2},
	} {
		d := indextest.NewStore()
		got := testenv.Must(searchRewritten(buildSnapshot(t, d, c.lines...), d, c.query))(t)
		if len(got) < 2 || got[0] != c.first {
			t.Errorf("%s finds %v, want %d first", c.query, got, c.first)
		}
	}
}
