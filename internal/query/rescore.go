package query

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
)

// RescoreDepth is of how many of the best hits the texts are looked at, to see what the
// index does not know: where in a text the words stand. Measured: the same as
// looking at all.
const RescoreDepth = 20

// Weights of what a text tells: how much of the score is that of its best passage,
// where it has more words than a passage may have (to judge shorter ones so harms),
// and what two words of the query that stand side by side count of what they count
// each.
const (
	chunkWeight     = .5
	proximityWeight = .3
)

// A DocMatches is what was read of a memory.
type DocMatches struct{ Title, Content Matches }

// MatchDoc reads a memory. A title that was made of the first line says nothing more.
func (r *Matcher) MatchDoc(title, content string) *DocMatches {
	t := &DocMatches{r.match(title), r.match(content)}
	if analysis.TitleRepeatsContent(title, content) {
		t.Title.matches = nil
	}
	return t
}

// A rescorer corrects hits by their texts.
type rescorer struct {
	Result
	query          Query
	texts          []*DocMatches
	chunks         [][]analysis.Span // of the long ones
	avgChunkLength float64           // of a passage, on average
	bigrams        []bigramStats
}

// A bigramStats is how often a pair of the query's words stands in each text, and
// its weight.
type bigramStats struct {
	counts []int
	weight float32
}

// Rescore gives hits the scores that they have after their texts were read: half of
// it is that of the best passage, where the text is long; and words that stand
// side by side in the query and in the text count more. hits and texts belong
// together; what is known of passages and of neighbouring words is known from
// these texts alone.
func (r Result) Rescore(q Query, hits []Hit, texts []*DocMatches) {
	x := &rescorer{Result: r, query: q, texts: texts, chunks: make([][]analysis.Span, len(texts))}
	if slices.ContainsFunc(texts, func(t *DocMatches) bool {
		return analysis.MayExceedWords(t.Content.text, analysis.MaxChunkWords)
	}) {
		x.splitChunks()
	}
	x.countBigrams()
	for i := range hits {
		h := &hits[i]
		score := h.Score / h.stateFactor
		if len(x.chunks[i]) > 1 {
			score += float32(chunkWeight * (x.bestChunkScore(i) - score))
		}
		h.Score = h.stateFactor * (score + x.proximityBonus(i, h.lengthCode))
	}
}

// splitChunks cuts the texts into passages. Short ones stay whole.
func (x *rescorer) splitChunks() {
	chunks, words := 0, 0
	for i, t := range x.texts {
		list, before := analysis.Chunker{MaxWords: analysis.MeanChunkWords}.Split(t.Content.text), words
		for _, s := range list {
			chunks, words = chunks+1, words+s.Words
		}
		if words-before > analysis.MaxChunkWords {
			x.chunks[i] = list
		}
	}
	x.avgChunkLength = float64(words) / float64(max(chunks, 1))
}

// bestChunkScore is the score of the passage that has the highest, with the title in
// front of each.
func (x *rescorer) bestChunkScore(i int) (best float32) {
	t := x.texts[i]
	front, freqs := make([]int, len(x.query.terms)), make([]int, len(x.query.terms))
	t.Title.countTerms(0, len(t.Title.text), x.query.firstTerm, front)
	title := 0
	if t.Title.matches != nil {
		title = analysis.CountWords(t.Title.text)
	}
	for _, p := range x.chunks[i] {
		copy(freqs, front)
		t.Content.countTerms(p.From, p.To, x.query.firstTerm, freqs)
		sum, norm := float32(0), index.LengthNorm(float64(title+p.Words), max(1, x.avgChunkLength+float64(title)))
		for j, term := range x.query.terms {
			if freqs[j] > 0 {
				sum += float32(term.weight * x.idf[j] * index.SaturateTF(float64(freqs[j]), norm))
			}
		}
		best = max(best, sum)
	}
	return best
}

// countTerms adds how often each term stands between two places. first is the first term of
// each word.
func (r Matches) countTerms(from, to int, first, freqs []int) {
	for _, s := range r.matches {
		if s.from < from || s.from >= to {
			continue
		}
		for set := s.terms; set != 0; set &= set - 1 {
			freqs[first[s.wordIndex]+bits.TrailingZeros64(set)]++
		}
	}
}

// countBigrams counts how often the pairs of the query's words stand in the texts, in
// a title as often as words count there. The fewer texts have a pair, the more it
// weighs.
func (x *rescorer) countBigrams() {
	for _, p := range x.query.wordBigrams {
		c, n := bigramStats{counts: make([]int, len(x.texts))}, 0
		for i, t := range x.texts {
			if c.counts[i] = index.TitleWeight*t.Title.bigramCount(p) + t.Content.bigramCount(p); c.counts[i] > 0 {
				n++
			}
		}
		if n > 0 {
			c.weight = index.IDF(max(x.docCount, n), n)
			x.bigrams = append(x.bigrams, c)
		}
	}
}

// proximityBonus is what words that stand side by side add to a score.
func (x *rescorer) proximityBonus(i int, code uint8) (sum float32) {
	for _, c := range x.bigrams {
		if n := c.counts[i]; n > 0 {
			sum += float32(proximityWeight * c.weight * index.SaturateTF(float64(n), x.bm25.LengthNorm(code)))
		}
	}
	return sum
}

// bigramCount counts how often a word comes right after another one, or only stop words
// between.
func (r Matches) bigramCount(p [2]int) (n int) {
	for i := 1; i < len(r.matches); i++ {
		a, b := r.matches[i-1], r.matches[i]
		if a.wordIndex == p[0] && b.wordIndex == p[1] && a.to <= b.from && onlyStopWords(r.text[a.to:b.from]) {
			n++
		}
	}
	return n
}

// maxGapBytes is how many bytes of stop words may stand between two words.
const maxGapBytes = 40

func onlyStopWords(s string) bool {
	if len(s) > maxGapBytes {
		return false
	}
	if strings.TrimSpace(s) == "" {
		return true
	}
	only := true
	a := analysis.Analyzer{}
	a.Emit = func(term []byte, r analysis.TokenType) {
		if r == analysis.Word || r == analysis.Identifier || r == analysis.Unigram || r == analysis.LoneUnigram {
			only = only && analysis.IsStopWord(string(term))
		}
	}
	a.Analyze(s)
	return only
}

// WordCount is how many words and identifiers a query asks for, those that do not count
// among them.
func (q Query) WordCount() int { return q.wordCount + len(q.droppedWords) }
