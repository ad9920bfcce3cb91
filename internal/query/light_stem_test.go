package query

import (
	"testing"

	"github.com/loci-memory/loci/internal/index"
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
		if got := newPrefixExpansion(word).prefix; got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
