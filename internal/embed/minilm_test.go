package embed

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/loci-memory/loci/internal/embed/kernel"
	"github.com/loci-memory/loci/internal/embed/model"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/vector"
)

// prose is a text of usual words.
const prose = `The harbour master keeps two books. In the first he writes down every ship that comes in, with its cargo, its
captain and the hour of the tide; in the second, which he shows to nobody, he notes what the sailors told him in the
evening. When the council asked last spring why so many crates of oranges had been lost, he opened the second book and
read aloud for twenty minutes. Since then the pilots wait for daylight before they pass the outer reef, the insurance
costs a third less, and the café at the quay sells fresh juice - three kinds of it - from nine o'clock.`

var _ vector.Embedder = (*MiniLM)(nil)

// miniLMs has an embedder for each variant of the kernels, the fastest first.
var miniLMs = sync.OnceValue(func() (all []*MiniLM) {
	for _, v := range kernel.Variants() {
		all = append(all, NewMiniLMWith(v))
	}
	return all
})

// allTexts runs f with each embedder.
func allTexts(t *testing.T, f func(t *testing.T, m *MiniLM)) {
	t.Helper()
	t.Parallel()
	for _, m := range miniLMs() {
		t.Run(m.Kernel(), func(t *testing.T) {
			t.Parallel()
			f(t, m)
		})
	}
}

// sampleTexts returns fewer texts for plain Go, which is slow, and agrees with the others.
func sampleTexts[T any](m *MiniLM, list []T) []T {
	if m.Kernel() == "go" && len(miniLMs()) > 1 {
		return list[:6]
	}
	return list
}

func vectors(t testing.TB, m *MiniLM, texts ...string) [][]float32 {
	t.Helper()
	return testenv.Must(m.Embed(t.Context(), texts))(t)
}

// cosine returns the cosine of two vectors; got must have norm 1.
func cosine(t testing.TB, got, want []float32) float64 {
	t.Helper()
	var dot, one, two float64
	for i := range want {
		dot += float64(got[i]) * float64(want[i])
		one += float64(got[i]) * float64(got[i])
		two += float64(want[i]) * float64(want[i])
	}
	if len(got) != width || !(math.Abs(one-1) < 1e-5) {
		t.Fatalf("%d values with a square of %v", len(got), one)
	}
	return dot / math.Sqrt(one*two)
}

func TestModelFileChecksumMatches(t *testing.T) {
	t.Parallel()
	f := testenv.Must(model.Open(modelFile))(t)
	testenv.NoError(t, f.Check())
	if f.Generation != "minilm-l6-v2/int8-h128/1" || f.License != "Apache-2.0" {
		t.Errorf("generation %q, license %q", f.Generation, f.License)
	}
}

func TestEmbedMatchesPublishedModel(t *testing.T) {
	golden := goldenTexts(t)
	allTexts(t, func(t *testing.T, m *MiniLM) {
		var all []float64
		sum := 0.0
		for _, g := range sampleTexts(m, golden) {
			c := cosine(t, vectors(t, m, g.Text)[0], g.Vector)
			all = append(all, c)
			sum += c
		}
		slices.Sort(all)
		least, fifth, mean := all[0], all[len(all)/20], sum/float64(len(all))
		t.Logf("cosine: least %.6f, 5th percentile %.6f, mean %.6f", least, fifth, mean)
		if least < .9985 || fifth < .999 || mean < .9995 {
			t.Error("the vectors are not those of the model")
		}
	})
}

func TestSimilarTextsHaveSimilarVectors(t *testing.T) {
	allTexts(t, func(t *testing.T, m *MiniLM) {
		v := vectors(t, m, "How do I bake bread at home?", "A recipe for a loaf of sourdough",
			"The train to Vienna leaves at noon.")
		if near, far := cosine(t, v[0], v[1]), cosine(t, v[0], v[2]); near < .5 || far > .2 {
			t.Errorf("near %.3f, far %.3f", near, far)
		}
	})
}

var oddTexts = map[string]string{
	"empty":         "",
	"one letter":    "a",
	"one sign":      "?",
	"broken":        "caf\xe9 \xff\xfe au lait",
	"nothing known": "ᚠᛇᚻ ᛒᛦᚦ",
	"zeros":         "\x00\x00",
	"long word":     strings.Repeat("x", 100<<10),
	"special":       "[CLS][PAD][MASK][SEP]",
	"emoji":         "👩‍👩‍👧‍👦",
}

func TestEmbedAcceptsOddTexts(t *testing.T) {
	allTexts(t, func(t *testing.T, m *MiniLM) {
		for name, text := range oddTexts {
			v := vectors(t, m, text)[0]
			for _, x := range v {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Fatalf("%s: %v", name, v)
				}
			}
			if c := cosine(t, v, v); math.Abs(c-1) > 1e-6 {
				t.Errorf("%s: %v with itself", name, c)
			}
		}
	})
}

func TestEmbedTruncatesLongTexts(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word ", 254)
	v := vectors(t, miniLMs()[0], text, text+strings.Repeat("and more ", 12<<10), "less "+text)
	if !slices.Equal(v[0], v[1]) || slices.Equal(v[0], v[2]) {
		t.Error("the limit is not 254 pieces")
	}
}

func TestPiecesCountsUnknown(t *testing.T) {
	t.Parallel()
	m := miniLMs()[0]
	for text, want := range map[string][2]int{"": {}, "unaffable me": {4, 0}, "ᚠᛇᚻ the ᛒᛦᚦ": {3, 2}} {
		if pieces, unknown := m.CountTokens(text); [2]int{pieces, unknown} != want {
			t.Errorf("%q: %d pieces, %d unknown, want %v", text, pieces, unknown, want)
		}
	}
}

// The variants in assembly give the same bits, plain Go nearly.
func TestKernelVariantsAgree(t *testing.T) {
	t.Parallel()
	texts := []string{prose, "What did the pilots do?", "x", strings.Repeat(prose, 3)}
	best := vectors(t, miniLMs()[0], texts...)
	for _, m := range miniLMs()[1:] {
		if m.Kernel() == "go" {
			texts = texts[1:3] // it is slow
			best = best[1:3]
		}
		for i, v := range vectors(t, m, texts...) {
			if c := cosine(t, v, best[i]); c < .999 {
				t.Errorf("%s and %s: cosine %.6f for %.40q", m.Kernel(), miniLMs()[0].Kernel(), c, texts[i])
			}
			if m.Kernel() != "go" && !slices.Equal(v, best[i]) {
				t.Errorf("%s and %s give other bits for %.40q", m.Kernel(), miniLMs()[0].Kernel(), texts[i])
			}
		}
	}
}

// The scratch memory of one text changes no other text, also at the same time.
func TestEmbedIsIndependentOfBatch(t *testing.T) {
	allTexts(t, func(t *testing.T, m *MiniLM) {
		texts := []string{"one", prose[:100], "a text of some length", "two", "?"}
		want := make([][]float32, len(texts))
		for i, text := range texts {
			fresh := &scratch{ids: m.tokenizer().Encode(nil, text, 256)}
			want[i] = m.network().run(m.variant, fresh)
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				got, err := m.Embed(t.Context(), texts)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range want {
					testenv.EqualSlices(t, got[i], want[i], texts[i])
				}
			})
		}
		group.Wait()
	})
}

func TestEmbedStopsWhenContextEnds(t *testing.T) {
	t.Parallel()
	m := NewMiniLM()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := m.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) || v != nil {
		t.Errorf("%v, %v", v, err)
	}
	testenv.Equal(t, len(m.slots), 0, "a place is taken")
}

func TestEmbedStopsWaitingWhenContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMiniLM()
		for range cap(m.slots) {
			m.slots <- struct{}{}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		go func() { _, err = m.Embed(ctx, []string{"a"}) }()
		synctest.Wait()
		if err != nil {
			t.Errorf("it did not wait: %v", err)
		}
		cancel()
		synctest.Wait()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// Embedding allocates only a list and its vector, once scratch memory exists, and a few small values in the kernels.
func TestEmbedAllocatesLittle(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection frees scratch memory
	m := miniLMs()[0]
	vectors(t, m, prose)
	most := 20.
	if hasRace {
		most = 100 // a sync.Pool then forgets a quarter of what it gets
	}
	if n := testing.AllocsPerRun(20, func() { vectors(t, m, prose) }); n > most {
		t.Errorf("%v allocations", n)
	}
}

func TestModelReadsLatinLetters(t *testing.T) {
	t.Parallel()
	m := miniLMs()[0]
	for text, reads := range map[string]bool{
		"Where is the database saved every night?": true, "Wo wird die Datenbank nächtlich gesichert?": true,
		"¿Dónde están las copias de seguridad?": true,
		"pgx.ErrNoRows at λ=3":                  true, "": true,
		"Где хранится резервная копия базы данных?": false,
		"我们的数据库备份每天凌晨三点运行":                          false, "データセンターの障害": false,
		"Που είναι το αντίγραφο;": false,
	} {
		testenv.Equal(t, vector.Readable(text, m), reads, text)
	}
}
