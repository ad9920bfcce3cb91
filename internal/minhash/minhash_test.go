package minhash

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
	"github.com/loci-memory/loci/internal/testenv"
)

func jaccard(s, t string) float64 { return NewShingles(s).Jaccard(NewShingles(t)) }

// Stored hashes must be found again by every later program: if this fails, the code is wrong, not the figures.
func TestBandsAreStable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int64{
		"":                 nil,
		" - **!** 👍\n":     nil,
		"ok":               {7189043197326436273, 8124082970236695437, 2239720655047757866, 7258710655091375469},
		"fix it":           {-101902063483539103, -8772562393516118884, -1837722721896053393, -6958856180297429840},
		analysistest.Prose: {5483337520564118034, 7053761583768281512, 2806145361723052023, -4104261692840103723},
		"Straße ΟΔΟΣ Ёлка": {4088302703934644660, -8623252765421252378, -1593453407229983482, 1246048755265563211},
		"从星期五到星期一不发布新版本。":  {8841855611275771568, -7375073129267288641, -2405140000105678475, 3255363218402537716},
		"デプロイは pgx v5 で凍結": {-2032768944004070635, -5953191393509735864, 2819487424238790042, 4347580228083290218},
	} {
		testenv.EqualSlices(t, Bands(text), want, text)
	}
}

// The rules of [Bands], written again without blocks and tables.
func TestBandsEqualDefinition(t *testing.T) {
	t.Parallel()
	hash := func(word string) uint64 {
		h := uint64(14695981039346656037)
		for _, r := range word {
			h = (h ^ uint64(r)) * 1099511628211
		}
		return h
	}
	one, two, han, zi := hash("one"), hash("two"), hash("漢"), hash("字")
	turn := func(x uint64, n int) uint64 { return x<<n | x>>(64-n) }
	shingles := []uint64{mix64(two ^ turn(one, 32)), mix64(han ^ turn(two, 21) ^ turn(one, 42)),
		mix64(zi ^ turn(han, 21) ^ turn(two, 42))}
	for b, got := range Bands("One, **TWO** 漢字") {
		want := uint64(b + 1)
		for row := range 3 {
			factor, least := mix64(uint64(3*b+row+1)*0x9e3779b97f4a7c15)|1, uint64(math.MaxUint64)
			for _, x := range shingles {
				least = min(least, x*factor)
			}
			want = mix64(want ^ least)
		}
		testenv.Equal(t, got, int64(want), "band", b)
	}
}

func TestBandsIgnoreMarkupCaseAndSpace(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{analysistest.Prose, strings.ToUpper(analysistest.Prose)},
		{analysistest.Prose, "# " + strings.ReplaceAll(analysistest.Prose, " ", " \n\t")},
		{analysistest.Prose, "> **" + strings.ReplaceAll(analysistest.Prose, ". ", ".**\n\n- _") + "_"},
		{"ok", "OK!"},
		{"caf\u00e9 noir", "CAFE\u0301 noir"},
		{"Straße nach Süden", "STRASSE NACH SU\u0308DEN"},
		{"ﬁle ＡＢＣ１２", "file abc12"},
		{"ガイドブック", "ｶﾞｲﾄﾞﾌﾞｯｸ"},
		{"ガイド、ブック", "カ\u3099イト\u3099フ\u3099ック"},
		{"한국어 문장", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165 \u1106\u116e\u11ab\u110c\u1161\u11bc"},
		{"从星期五到星期一", "从，星期五「到」\n星期一。"},
		{"Ёлка ЗИМОЙ", "Е\u0308лка зимой"},
		{"ΟΔΟΣ ἀρχή", "οδος ἈΡΧΉ"},
	} {
		if a, b := Bands(pair[0]), Bands(pair[1]); len(a) != BandCount || !slices.Equal(a, b) {
			t.Errorf("%.40q and %.40q differ: %v %v", pair[0], pair[1], a, b)
		}
		testenv.Equal(t, jaccard(pair[0], pair[1]), 1, pair[0], pair[1])
	}
}

func TestJaccardOfShortTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"", "", 0},
		{"", "word", 0},
		{"---", "***", 0},
		{"word", "word", 1},
		{"word", "other", 0},
		{"two words", "two words", 1},
		{"two words", "words two", 0},
		{"one two three", "one two four", 1. / 3},
		{"one two three", "one two three four", 2. / 3},
		{"a b c d e", "b c d e a", 3. / 5},
		{"a a a a", "a a", 1},
		{"東京", "東京", 1},
		{"東京", "京都", 0},
		{"東京都庁", "東京都", 1. / 2},
		{"东", "东", 1},
	} {
		if got := jaccard(c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%q and %q: got %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestJaccardSeparatesPairsOfUnsegmentedScripts(t *testing.T) {
	t.Parallel()
	const (
		zh = "从星期五下午到星期一早上不发布任何新版本，因为周末没有人愿意被叫醒。如果必须发布修复，请先询问值班工程师。"
		ja = "金曜日の午後から月曜日の朝まで、デプロイは凍結されます。修正が必要な場合は、当番の技術者に確認してください。"
		ko = "금요일 오후부터 월요일 아침까지 배포가 중단됩니다. 수정이 꼭 필요하면 당직 엔지니어에게 먼저 물어보세요."
		th = "ไม่มีการเผยแพร่ตั้งแต่บ่ายวันศุกร์จนถึงเช้าวันจันทร์ เพราะไม่มีใครอยากถูกปลุกในวันหยุดสุดสัปดาห์"
	)
	for _, pair := range [][2]string{
		{zh, strings.Replace(zh, "星期五", "星期四", 1)},
		{ja, strings.Replace(ja, "月曜日", "火曜日", 1)},
		{ko, strings.Replace(ko, "아침", "점심", 1)},
		{th, strings.Replace(th, "เช้า", "ค่ำ", 1)},
	} {
		if got := jaccard(pair[0], pair[1]); got < SimilarityThreshold || got == 1 {
			t.Errorf("%q: %v with one word changed", pair[0], got)
		}
	}
	for i, s := range []string{zh, ja, ko, th} {
		for _, other := range []string{zh, ja, ko, th}[i+1:] {
			if got := jaccard(s, other); got > .05 {
				t.Errorf("%q and %q: %v", s, other, got)
			}
		}
	}
}

// words returns a text of n words, each one of a million.
func words(r *rand.Rand, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("w", r.IntN(1_000_000))
	}
	return list
}

// With true permutations the number of pairs that share a band is binomial; six standard deviations are no chance.
func TestBandsMatchWithExpectedProbability(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, changed := range []int{2, 5, 10, 20, 40} {
		const pairs = 3000
		want, spread, got := 0., 0., 0.
		for range pairs {
			a := words(r, 100)
			b := slices.Clone(a)
			copy(b, words(r, changed))
			s, u := strings.Join(a, " "), strings.Join(b, " ")
			p := 1 - math.Pow(1-math.Pow(jaccard(s, u), rowsPerBand), BandCount)
			want, spread = want+p, spread+p*(1-p)
			x, y := Bands(s), Bands(u)
			for i := range x {
				if x[i] == y[i] {
					got++
					break
				}
			}
		}
		t.Logf("%d words of 100 changed: %.3f share a band, expected %.3f", changed, got/pairs, want/pairs)
		if math.Abs(got-want) > 6*math.Sqrt(spread) {
			t.Errorf("%d words changed: %v pairs share a band, expected %.1f", changed, got, want)
		}
	}
}

func TestJaccardEstimatesLongTexts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{900, 1024, 1500, 20_000} {
		for _, part := range []int{0, n / 10, n / 3, n} {
			a := words(r, n+1)
			b := append(slices.Clone(a[:n-part]), words(r, part+1)...)
			want := float64(n-part-1) / float64(n+part+1)
			if got := jaccard(strings.Join(a, " "), strings.Join(b, " ")); math.Abs(got-want) > .06 {
				t.Errorf("%d of %d words changed: %.3f, exactly %.3f", part, n, got, want)
			}
		}
	}
}

func TestJaccardIsSymmetricAndBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			pieces := rapid.SampledFrom([]string{"a ", "b ", "Long ", "é", "e\u0301 ", "数", "字", "\u0301", "ก", "**",
				"1", "ﷺ", "\xff"})
			return strings.Join(rapid.SliceOf(pieces).Draw(t, "pieces"), "")
		})
		checkSimilarity(t, text.Draw(t, "a"), text.Draw(t, "b"))
	})
}

func checkSimilarity(t testenv.Reporter, a, b string) {
	x, y := NewShingles(a), NewShingles(b)
	got := x.Jaccard(y)
	if back := y.Jaccard(x); got != back || got < 0 || got > 1 {
		t.Errorf("%q and %q: %v and %v", a, b, got, back)
	}
	bands := Bands(a)
	if len(bands) != 0 && len(bands) != BandCount || !slices.Equal(bands, Bands(a)) {
		t.Errorf("%q: %v, then %v", a, bands, Bands(a))
	}
	own := 0.
	if len(bands) > 0 {
		own = 1
	}
	testenv.Equal(t, x.Jaccard(NewShingles(a)), own, a, len(bands))
	if got == 1 && len(x.hashes) < maxShingles && !slices.Equal(bands, Bands(b)) {
		t.Errorf("%q and %q have the same shingles and other bands", a, b)
	}
}

// Quadratic work on one of these takes minutes: the time limit of the run ends it.
func TestBandsAreLinearForHostileText(t *testing.T) {
	t.Parallel()
	for name, piece := range analysistest.Hostile {
		text := strings.Repeat(piece, 256<<10/len(piece))
		checkSimilarity(t, text, text[:len(text)/2/len(piece)*len(piece)])
		if n := len(NewShingles(text).hashes); n > maxShingles {
			t.Errorf("%s: %d shingles", name, n)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	testenv.Equal(t, len(NewShingles(strings.Join(words(r, 40_000), " ")).hashes), maxShingles,
		"shingles of 40,000 words")
}

func FuzzBands(f *testing.F) {
	for _, piece := range analysistest.Hostile {
		f.Add(strings.Repeat(piece, 3), piece)
	}
	f.Add(analysistest.Prose, strings.ToUpper(analysistest.Prose))
	f.Fuzz(func(t *testing.T, a, b string) { checkSimilarity(t, a, b) })
}
