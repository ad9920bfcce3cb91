package query

import (
	"math/bits"
	"strings"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
)

// Weights of the text in the score. chunkWeight is the share of the best chunk in the score of a text longer than a
// chunk. Scoring shorter texts by chunks is worse. proximityWeight is the weight of adjacent words of the query,
// relative to that of a term. Measured: with .4 of chunks documentation loses .003, with .6 sessions
// lose .002. With .2 of adjacent words documentation loses .013, with .4 code loses .006.
const (
	chunkWeight     = .5
	proximityWeight = .3
)

// DocMatches are the matches of a query in one memory.
type DocMatches struct {
	Title, Content Matches
	titleRepeats   bool // the content begins with the title, which is too long for a heading
}

// MatchDoc matches a memory. A long title with which the content begins has no matches.
func (m *Matcher) MatchDoc(title, content string) *DocMatches {
	t := &DocMatches{m.match(title), m.match(content), analysis.TitleRepeatsContent(title, content)}
	if t.titleRepeats {
		t.Title.matches = nil
	}
	return t
}

// A rescorer rescores hits by their texts.
type rescorer struct {
	Result
	query          Query
	texts          []*DocMatches
	chunks         [][]analysis.Span // of long texts; nil for others
	avgChunkLength float64           // mean number of words of a chunk
	bigrams        []bigramStats
}

// bigramStats are the frequency of a pair of words in each text, and the weight of the pair.
type bigramStats struct {
	counts []int
	weight float32
}

// Rescore rescores hits by their texts, given in the same order. A long text gets half of its score from its best
// chunk. Adjacent words of the query that are adjacent in a text add to its score. The mean length of chunks and the
// document frequencies of pairs are those of these texts. All other statistics are those of the workspace.
func (r Result) Rescore(q Query, hits []Hit, texts []*DocMatches) {
	x := &rescorer{Result: r, query: q, texts: texts, chunks: make([][]analysis.Span, len(texts))}
	x.splitChunks()
	x.countBigrams()
	for i := range hits {
		h := &hits[i]
		score := h.rawScore()
		if len(x.chunks[i]) > 1 {
			score += float32(chunkWeight * (x.bestChunkScore(i) - score))
		}
		h.setRawScore(score + x.proximityBonus(i, h.lengthCode))
	}
}

// splitChunks splits the long texts into chunks.
func (x *rescorer) splitChunks() {
	chunks, words := 0, 0
	for i, t := range x.texts {
		list, before := analysis.Chunker{MaxWords: analysis.RescoringChunkWords}.Split(t.Content.text), words
		for _, s := range list {
			chunks, words = chunks+1, words+s.Words
		}
		if words-before > analysis.MaxChunkWords {
			x.chunks[i] = list
		}
	}
	x.avgChunkLength = float64(words) / float64(max(chunks, 1))
}

// bestChunkScore returns the highest score of a chunk, each with the title in front. Measured: the title counts once.
// With index.TitleWeight, questions on documentation lose .005.
func (x *rescorer) bestChunkScore(i int) (best float32) {
	t := x.texts[i]
	front, freqs := make([]int, len(x.query.terms)), make([]int, len(x.query.terms))
	t.Title.countTerms(0, len(t.Title.text), x.query.firstTerm, front)
	title := 0
	if !t.titleRepeats {
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

// countTerms adds the frequencies of terms in a byte range to freqs. first has the first term of each word.
func (m Matches) countTerms(from, to int, first, freqs []int) {
	for _, s := range m.matches {
		if s.from < from || s.from >= to {
			continue
		}
		for set := s.terms; set != 0; set &= set - 1 {
			freqs[first[s.wordIndex]+bits.TrailingZeros64(set)]++
		}
	}
}

// countBigrams counts the adjacent pairs of words in the texts. A title has the weight that it has for terms. The rarer
// a pair is among the texts, the higher its weight.
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

// proximityBonus returns the addend of adjacent words in the score of a text.
func (x *rescorer) proximityBonus(i int, code uint8) (sum float32) {
	for _, c := range x.bigrams {
		if n := c.counts[i]; n > 0 {
			sum += float32(proximityWeight * c.weight * index.SaturateTF(float64(n), x.bm25.LengthNorm(code)))
		}
	}
	return sum
}

// bigramCount counts the occurrences of a word right after another one, apart from stop words.
func (m Matches) bigramCount(p [2]int) (n int) {
	for i := 1; i < len(m.matches); i++ {
		a, b := m.matches[i-1], m.matches[i]
		if a.wordIndex == p[0] && b.wordIndex == p[1] && a.to <= b.from && onlyStopWords(m.text[a.to:b.from]) {
			n++
		}
	}
	return n
}

// maxGapBytes is the greatest length of the stop words between two words, in bytes.
const maxGapBytes = 40

// onlyStopWords reports whether a text between two words has only stop words.
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

// WordCount returns the number of distinct words of the query, dropped ones included. Identifiers and bigrams count as
// words.
func (q Query) WordCount() int { return q.wordCount + len(q.droppedWords) }
