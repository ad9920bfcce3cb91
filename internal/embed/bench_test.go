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

func benchmark(b *testing.B, text string, f func(t *Tokenizer, text string)) {
	t := newTokenizer(b, modelVocabulary(b))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		f(t, text)
	}
}

// The target is 20 MB of prose a second.
func BenchmarkEncode(b *testing.B) {
	dst := make([]int32, 0, 1024)
	for name, text := range map[string]string{"passage": prose, "query": "why were crates of oranges lost?"} {
		b.Run(name, func(b *testing.B) {
			benchmark(b, text, func(t *Tokenizer, text string) { dst = t.Encode(dst[:0], text, 1024) })
		})
	}
}

func BenchmarkPieces(b *testing.B) {
	texts := map[string]string{"prose": prose, "code": "func (c *cursor) next(ids []int32) (more []int32, found " +
		"bool) {\n\tc.bytes, c.runes = 0, 0\n"}
	for name, text := range hostile {
		texts[name] = text
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			benchmark(b, strings.Repeat(text, 1<<18/len(text)+1), func(t *Tokenizer, text string) {
				t.CountTokens(text)
			})
		})
	}
}

func BenchmarkNewTokenizer(b *testing.B) {
	vocabulary := modelVocabulary(b)
	b.ReportAllocs()
	for b.Loop() {
		newTokenizer(b, vocabulary)
	}
}
