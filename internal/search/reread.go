package search

import (
	"math/bits"
	"slices"
	"strings"
)

// Reread is of how many of the best hits the texts are looked at, to see what the
// index does not know: where in a text the words stand. Measured: the same as
// looking at all.
const Reread = 20

// Weights of what a text tells: how much of the score is that of its best passage,
// where it has more words than a passage may have (to judge shorter ones so harms),
// and what two words of the query that stand side by side count of what they count
// each.
const (
	passageShare = .5
	pairShare    = .3
)

// A Text is what was read of a memory.
type Text struct{ Title, Content Reading }

// Text reads a memory. A title that was made of the first line says nothing more.
func (r *Reader) Text(title, content string) *Text {
	t := &Text{r.read(title), r.read(content)}
	if repeats(title, content) {
		t.Title.spots = nil
	}
	return t
}

// A rereading corrects hits by their texts.
type rereading struct {
	Result
	query  Query
	texts  []*Text
	spans  [][]span // of the long ones
	length float64  // of a passage, on average
	pairs  []pairCount
}

// A pairCount is how often a pair of the query's words stands in each text, and
// its weight.
type pairCount struct {
	in     []int
	weight float32
}

// Reread gives hits the scores that they have after their texts were read: half of
// it is that of the best passage, where the text is long; and words that stand
// side by side in the query and in the text count more. hits and texts belong
// together; what is known of passages and of neighbouring words is known from
// these texts alone.
func (r Result) Reread(q Query, hits []Hit, texts []*Text) {
	x := &rereading{Result: r, query: q, texts: texts, spans: make([][]span, len(texts))}
	if slices.ContainsFunc(texts, func(t *Text) bool { return mayExceed(t.Content.text, maxWords) }) {
		x.cut()
	}
	x.countPairs()
	for i := range hits {
		h := &hits[i]
		score := h.Score / h.factor
		if len(x.spans[i]) > 1 && !q.without.Has(FeaturePassages) {
			score += float32(passageShare * (x.bestPassage(i) - score))
		}
		h.Score = h.factor * (score + x.sideBySide(i, h.code))
	}
}

// cut cuts the texts into passages. Short ones stay whole.
func (x *rereading) cut() {
	passages, words := 0, 0
	for i, t := range x.texts {
		list, before := cutter{words: meanWords}.spans(t.Content.text), words
		for _, s := range list {
			passages, words = passages+1, words+s.words
		}
		if words-before > maxWords {
			x.spans[i] = list
		}
	}
	x.length = float64(words) / float64(max(passages, 1))
}

// bestPassage is the score of the passage that has the highest, with the title in
// front of each.
func (x *rereading) bestPassage(i int) (best float32) {
	t := x.texts[i]
	front, freqs := make([]int, len(x.query.terms)), make([]int, len(x.query.terms))
	t.Title.count(0, len(t.Title.text), x.query.first, front)
	title := 0
	if t.Title.spots != nil {
		title = wordsOf(t.Title.text)
	}
	for _, p := range x.spans[i] {
		copy(freqs, front)
		t.Content.count(p.from, p.to, x.query.first, freqs)
		sum, bend := float32(0), bendOf(float64(title+p.words), max(1, x.length+float64(title)))
		for j, term := range x.query.terms {
			if freqs[j] > 0 {
				sum += float32(term.weight * x.idf[j] * saturate(float64(freqs[j]), bend))
			}
		}
		best = max(best, sum)
	}
	return best
}

// count adds how often each term stands between two places. first is the first term of
// each word.
func (r Reading) count(from, to int, first, freqs []int) {
	for _, s := range r.spots {
		if s.from < from || s.from >= to {
			continue
		}
		for set := s.terms; set != 0; set &= set - 1 {
			freqs[first[s.group]+bits.TrailingZeros64(set)]++
		}
	}
}

// countPairs counts how often the pairs of the query's words stand in the texts, in
// a title as often as words count there. The fewer texts have a pair, the more it
// weighs.
func (x *rereading) countPairs() {
	for _, p := range x.query.pairs {
		c, n := pairCount{in: make([]int, len(x.texts))}, 0
		for i, t := range x.texts {
			if c.in[i] = titleWeight*t.Title.pair(p) + t.Content.pair(p); c.in[i] > 0 {
				n++
			}
		}
		if n > 0 {
			c.weight = idf(max(x.docs, n), n)
			x.pairs = append(x.pairs, c)
		}
	}
}

// sideBySide is what words that stand side by side add to a score.
func (x *rereading) sideBySide(i int, code uint8) (sum float32) {
	for _, c := range x.pairs {
		if n := c.in[i]; n > 0 {
			sum += float32(pairShare * c.weight * saturate(float64(n), x.norms.bend[code]))
		}
	}
	return sum
}

// pair counts how often a word comes right after another one, or only stop words
// between.
func (r Reading) pair(p [2]int) (n int) {
	for i := 1; i < len(r.spots); i++ {
		a, b := r.spots[i-1], r.spots[i]
		if a.group == p[0] && b.group == p[1] && a.to <= b.from && onlyStopWords(r.text[a.to:b.from]) {
			n++
		}
	}
	return n
}

// maxGap is how many bytes of stop words may stand between two words.
const maxGap = 40

func onlyStopWords(s string) bool {
	if len(s) > maxGap {
		return false
	}
	if strings.TrimSpace(s) == "" {
		return true
	}
	only := true
	a := analyzer{}
	a.emit = func(term []byte, r role) {
		if r == word || r == whole || r == letter || r == lone {
			only = only && stopWords[string(term)]
		}
	}
	a.analyze(s)
	return only
}

// Asks is how many words and identifiers a query asks for, those that do not count
// among them.
func (q Query) Asks() int { return q.groups + len(q.left) }
