package embed

import (
	"strings"
	"testing"
)

const prose = `The harbour master keeps two books. In the first he writes down every ship that comes in, with its cargo, its
captain and the hour of the tide; in the second, which he shows to nobody, he notes what the sailors told him in the
evening. When the council asked last spring why so many crates of oranges had been lost, he opened the second book and
read aloud for twenty minutes. Since then the pilots wait for daylight before they pass the outer reef, the insurance
costs a third less, and the café at the quay sells fresh juice - three kinds of it - from nine o'clock.`

// hostile are texts of which 256 KiB must not cost much more than prose; the cost of none may be quadratic.
var hostile = map[string]string{
	"letter":      "a",
	"hundred":     strings.Repeat("a", 99) + " ",
	"one piece":   strings.Repeat("q", 99) + " ",
	"near misses": "internationalizatio internationalizatio ",
	"marks":       "\u0301",
	"zalgo":       "e\u0301\u0316\u0344\u0f73",
	"Han":         "東京都の人",
	"far Han":     "\U0002F800\uF900",
	"Hangul":      "한국어",
	"brackets":    "[[[[CLS",
	"signs":       "?!",
	"emoji":       "👨\u200d👩",
	"nothing":     "\u200b\x00",
	"broken":      "\xff\xc3",
	"Cyrillic":    "Привет мир ",
}

func FuzzTokenizer(f *testing.F) {
	for _, text := range hostile {
		f.Add(strings.Repeat(text, 3), 5)
	}
	f.Add(prose, 20)
	all := testVocabularies(f)
	tokenizers, plains := map[string]*Tokenizer{}, map[string]naiveTokenizer{}
	for name, vocabulary := range all {
		tokenizers[name], plains[name] = newTokenizer(f, vocabulary), newNaiveTokenizer(vocabulary)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		for name, tokenizer := range tokenizers {
			for _, id := range tokenizer.Encode(nil, text, len(text)+2) {
				if id < 0 || int(id) >= len(all[name]) {
					t.Errorf("id %d is out of range", id)
				}
			}
			checkAgreement(t, tokenizer, plains[name], text, most)
		}
	})
}
