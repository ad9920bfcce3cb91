package embed

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/embed/model"
	"github.com/loci-memory/loci/internal/testenv"
)

// smallVocabulary is a vocabulary for tests that need none of the model: a few words, and letters of several scripts.
var smallVocabulary = func() []string {
	list := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "un", "una", "##ffa", "##ble", "##able", "aa",
		"##aa", "東", "。", "中"}
	for _, r := range "abefgilmnostu0123" + "абвй" + "λσς" + "한ᄀ" + "אעש" + "ाि" + "か" {
		if parts, n := decompose(r); n == 1 && parts[0] == r {
			list = append(list, string(r), "##"+string(r))
		}
	}
	for r := rune('!'); r < 0x7F; r++ {
		if isPunctuation(r) {
			list = append(list, string(r))
		}
	}
	return list
}()

func testVocabularies(t testing.TB) map[string][]string {
	return map[string][]string{"small": smallVocabulary, "model": modelVocabulary(t)}
}

func TestTokenizerIsGreedy(t *testing.T) {
	t.Parallel()
	tokenizer := newTokenizer(t, smallVocabulary)
	for text, want := range map[string]string{
		"":                             "",
		" \t\r\n\u00a0\u2028\u3000":    "",
		"Unaffable":                    "una ##ffa ##ble",
		"unable":                       "una ##ble", // longer than "un" and "##able"
		"unxable":                      "[UNK]",
		"the\u0301 \u0301THE":          "the the",
		"th\x00e\u200bthe t\x0bhe":     "[UNK] the", // no piece for h
		"th\ufffde th\xffe":            "the the",
		"a東b。中":                        "a 東 b 。 中",
		"a$b":                          "a $ b",
		"한 하":                          "ᄒ ##ᅡ ##ᆫ ᄒ ##ᅡ",
		"ΛΣ λς":                        "λ ##σ λ ##ς",
		"й":                            "[UNK]", // и is not in the vocabulary
		"The[SEP]the [sep] [[MASK]]":   "the [SEP] the [ [UNK] ] [ [MASK] ]",
		"[S\u200bEP]":                  "[ [UNK] ]",
		strings.Repeat("a", 100):       "aa" + strings.Repeat(" ##aa", 49),
		strings.Repeat("a", 101):       "[UNK]",
		strings.Repeat("a\u0301", 100): "aa" + strings.Repeat(" ##aa", 49),
		strings.Repeat("한", 34):        "[UNK]", // 102 letters
		"\U0002B820a \U0002B920a":      "[UNK] [UNK] a",
		"a\u0378 b\U000E0001":          "[UNK] b",
	} {
		var got []string
		for _, id := range tokenizer.Encode(nil, text, 1000) {
			got = append(got, smallVocabulary[id])
		}
		testenv.Equal(t, strings.Join(got[1:len(got)-1], " "), want, text)
		checkAgreement(t, tokenizer, newNaiveTokenizer(smallVocabulary), text, 7)
	}
}

func TestTokenizerMatchesNaiveOnAnyText(t *testing.T) {
	t.Parallel()
	some := rapid.SampledFrom([]string{"the", "una", "aa", "[SEP]", "[CLS", "]", " ", "#", "é", "\u0344", "한", "東", "豈",
		"ば", "≠", "\u1fef", "ো",
		"\u200d", "\u0085", "\x1f", "\xff", "\ufffd", "İ", "ẞ", "ς", "ﬁ", "😀", "\U0002F800", "\U0002B821", "\ue000",
		"\ufdd0", strings.Repeat("a", 90), strings.Repeat("q", 99), "internationalizatio", "e\u0316\u0f73", "👨\u200d👩",
		"Привет", "[[CLS"})
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.OneOf(some, rapid.StringN(1, 2, 8))),
		func(parts []string) string { return strings.Join(parts, "") }))
	for name, vocabulary := range testVocabularies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokenizer, p := newTokenizer(t, vocabulary), newNaiveTokenizer(vocabulary)
			rapid.Check(t, func(t *rapid.T) {
				checkAgreement(t, tokenizer, p, text.Draw(t, "text"), rapid.IntRange(-1, 40).Draw(t, "most"))
			})
		})
	}
}

// Every single character is tokenized as the description says. The order of marks never depends on the vocabulary.
func TestTokenizerMatchesNaiveOnEveryRune(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		l := classify(r)
		got := ""
		switch l.kind {
		case kindLetter, kindSingle:
			got = string(l.rune)
		case kindDecomposed:
			parts, n := decompose(r)
			for _, p := range parts[:n] {
				got += string(p)
				testenv.Equal(t, classify(p).kind, kindLetter, r, p)
			}
		}
		testenv.Equal(t, got, strings.Join(strings.Fields(naiveNormalize(string(r))), ""), r)
		if parts := naiveDecompose("a" + got + "a"); (len(parts) == 1) == (l.kind == kindSingle) &&
			!unicode.Is(naiveHan, r) {
			t.Errorf("%U is of kind %d, and beside letters it makes words %q", r, l.kind, parts)
		}
	}
	for name, vocabulary := range testVocabularies(t) {
		for _, piece := range vocabulary {
			for _, r := range piece {
				testenv.Equal(t, norm.NFD.PropertiesString(string(r)).CCC(), 0, "the vocabulary", name, piece)
			}
		}
	}
}

func TestNewTokenizerRejectsBrokenVocabulary(t *testing.T) {
	t.Parallel()
	for want, vocabulary := range map[string][]string{
		"no piece [UNK]": nil,
		"no piece [SEP]": {"[UNK]", "[CLS]", "a"},
		"piece 3 is":     {"[UNK]", "[CLS]", "[SEP]", ""},
		"piece 0 is":     {"\xff", "[UNK]", "[CLS]", "[SEP]"},
		"0 and 3":        {"a", "[UNK]", "[CLS]", "a", "[SEP]"},
	} {
		if tokenizer, err := NewTokenizer(vocabulary); err == nil || tokenizer != nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", vocabulary, err, want)
		}
	}
}

// Without continuations a word is a piece or unknown; missing [PAD] and [MASK] are text.
func TestNewTokenizerAcceptsMinimalVocabulary(t *testing.T) {
	t.Parallel()
	least := []string{"[UNK]", "[CLS]", "[SEP]", "a", "[", "]", "pad"}
	tokenizer := newTokenizer(t, least)
	for _, text := range []string{"a aa b", "[PAD]a[MASK]", "##a"} {
		checkAgreement(t, tokenizer, newNaiveTokenizer(least), text, 4)
	}
}

// readLines reads a file of JSON in testdata, one value a line.
func readLines[T any](t testing.TB, name string) (list []T) {
	t.Helper()
	data := testenv.Must(os.ReadFile(filepath.Join("testdata", name)))(t)
	for line := range bytes.Lines(data) {
		var v T
		testenv.NoError(t, json.Unmarshal(line, &v))
		list = append(list, v)
	}
	return list
}

// modelVocabulary returns the vocabulary in the model file.
func modelVocabulary(t testing.TB) []string {
	t.Helper()
	f := testenv.Must(model.Open(modelFile))(t)
	return strings.Fields(f.Text("vocabulary"))
}

func newTokenizer(t testing.TB, vocabulary []string) *Tokenizer {
	t.Helper()
	return testenv.Must(NewTokenizer(vocabulary))(t)
}

func TestTokenizerMatchesReference(t *testing.T) {
	t.Parallel()
	vocabulary := modelVocabulary(t)
	tokenizer := newTokenizer(t, vocabulary)
	fixtures := readLines[struct {
		Text   string
		IDs    []int32
		Tokens []string
	}](t, "tokens.jsonl")
	testenv.Equal(t, len(fixtures), 85, "fixtures want 85")
	for _, f := range fixtures {
		got := tokenizer.Encode(nil, f.Text, len(f.IDs)+3)
		want := slices.Concat([]int32{101}, f.IDs, []int32{102})
		testenv.EqualSlices(t, got, want, f.Text)
		for i, id := range f.IDs {
			testenv.Equal(t, vocabulary[id], f.Tokens[i], "piece", id)
		}
		if n, _ := tokenizer.CountTokens(f.Text); n != len(f.IDs) {
			t.Errorf("%q: counted %d, want %d", f.Text, n, len(f.IDs))
		}
	}
}

// A goldenText has the ids and the vector that the published model computes in float32, rounded to four digits.
type goldenText struct {
	Text   string
	IDs    []int32
	Vector []float32
}

func goldenTexts(t testing.TB) []goldenText {
	t.Helper()
	list := readLines[goldenText](t, "golden.jsonl")
	testenv.Equal(t, len(list), 55, "golden texts want 55")
	return list
}

func TestEncodeMatchesModelIDs(t *testing.T) {
	t.Parallel()
	const most = 256 // of the model, and of the golden ids
	tokenizer := newTokenizer(t, modelVocabulary(t))
	for _, g := range goldenTexts(t) {
		testenv.EqualSlices(t, tokenizer.Encode(nil, g.Text, most), g.IDs, g.Text)
	}
}
