package embed

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci/internal/testenv"
)

// naiveTokenizer implements the description of the tokenizer step by step over whole texts, without optimization.
type naiveTokenizer struct {
	ids      map[string]int32
	specials []string
}

func newNaiveTokenizer(vocabulary []string) naiveTokenizer {
	p := naiveTokenizer{ids: map[string]int32{}}
	for id, piece := range vocabulary {
		p.ids[piece] = int32(id)
		if slices.Contains([]string{"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"}, piece) {
			p.specials = append(p.specials, piece)
		}
	}
	return p
}

// pieceIDs returns the words of a text; a special piece is one.
func (p naiveTokenizer) pieceIDs(text string) (list []string) {
	first, piece := len(text), ""
	for _, s := range p.specials {
		if i := strings.Index(text, s); i >= 0 && i < first {
			first, piece = i, s
		}
	}
	for _, word := range strings.Fields(naiveNormalize(text[:first])) {
		list = append(list, naiveDecompose(word)...)
	}
	if piece == "" {
		return list
	}
	return append(append(list, piece), p.pieceIDs(text[first+len(piece):])...)
}

func naiveNormalize(text string) string {
	var clean strings.Builder
	for _, r := range text {
		switch {
		case strings.ContainsRune("\t\n\r", r) || unicode.In(r, unicode.Z):
			clean.WriteByte(' ')
		case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		case unicode.Is(naiveHan, r):
			clean.WriteString(" " + string(r) + " ")
		default:
			clean.WriteRune(r)
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(clean.String()))
}

var naiveHan = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4DBF, Stride: 1}, {Lo: 0x4E00, Hi: 0x9FFF, Stride: 1},
		{Lo: 0xF900, Hi: 0xFAFF, Stride: 1}},
	R32: []unicode.Range32{
		{Lo: 0x20000, Hi: 0x2A6DF, Stride: 1}, {Lo: 0x2A700, Hi: 0x2B73F, Stride: 1},
		{Lo: 0x2B740, Hi: 0x2B81F, Stride: 1},
		{Lo: 0x2B920, Hi: 0x2CEAF, Stride: 1}, {Lo: 0x2F800, Hi: 0x2FA1F, Stride: 1},
	},
}

// naiveDecompose splits a word at its punctuation.
func naiveDecompose(word string) (list []string) {
	rest := ""
	flush := func() {
		if rest != "" {
			list = append(list, rest)
		}
		rest = ""
	}
	for _, r := range word {
		if unicode.IsPunct(r) || strings.ContainsRune("$+<=>^`|~", r) {
			flush()
			list = append(list, string(r))
			continue
		}
		rest += string(r)
	}
	flush()
	return list
}

// pieces cuts one word.
func (p naiveTokenizer) pieces(word string) (ids []int32) {
	if id, is := p.ids[word]; is && slices.Contains(p.specials, word) {
		return []int32{id}
	}
	letters, mark := []rune(word), ""
	if len(letters) > 100 {
		return []int32{p.ids["[UNK]"]}
	}
	for len(letters) > 0 {
		n := len(letters)
		for n > 0 && !p.has(mark+string(letters[:n])) {
			n--
		}
		if n == 0 {
			return []int32{p.ids["[UNK]"]}
		}
		ids = append(ids, p.ids[mark+string(letters[:n])])
		letters, mark = letters[n:], "##"
	}
	return ids
}

func (p naiveTokenizer) has(piece string) bool {
	_, has := p.ids[piece]
	return has
}

// encode returns the pieces of a text.
func (p naiveTokenizer) encode(text string) (ids []int32) {
	for _, word := range p.pieceIDs(text) {
		ids = append(ids, p.pieces(word)...)
	}
	return ids
}

// checkAgreement checks the properties of every text.
func checkAgreement(t testenv.Reporter, tokenizer *Tokenizer, p naiveTokenizer, text string, most int) {
	want := p.encode(text)
	got := tokenizer.Encode([]int32{-7}, text, len(text)+2)
	if got[0] != -7 || got[1] != tokenizer.cls || got[len(got)-1] != tokenizer.sep {
		t.Errorf("%q: %v is not between [CLS] and [SEP], after what was there", text, got)
	}
	got = got[1:]
	testenv.EqualSlices(t, got[1:len(got)-1], want, text)
	if n, _ := tokenizer.CountTokens(text); n != len(want) {
		t.Errorf("%q: %d pieces, want %d", text, n, len(want))
	}
	short := tokenizer.Encode(nil, text, most)
	switch {
	case most < 2:
		got = nil
	case most < len(got):
		got = append(got[:most-1], tokenizer.sep)
	}
	testenv.EqualSlices(t, short, got, text, most)
}
