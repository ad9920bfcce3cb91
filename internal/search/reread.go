package search

import (
	"math/bits"
	"strings"
)

// Reread is of how many of the best hits the texts are looked at, to see what the
// index does not know: where in a text the words stand. Measured: the same as
// looking at all.
const Reread = 20

// Weights of what a text tells: how much of the score is that of its best passage
// where it has several, and what two words of the query that stand side by side
// count of what they count each.
const (
	passageShare = .5
	pairShare    = .3
)

// passageLength is the average length of a passage in words, where documents are
// longer.
const passageLength = 80

// Reread gives a hit the score that it has after its text was read: half of it is
// that of the best passage, if it has several; and words that stand side by side
// in the query and in the text count more. title is the reading of the title.
func (r Result) Reread(h Hit, title, text Reading) Hit {
	score := h.Score / h.factor
	if repeats(title.text, text.text) {
		title.spots = nil
	}
	if list := spans(text.text); len(list) > 1 {
		score += float32(passageShare * (r.bestPassage(list, title, text) - score))
	}
	score += r.pairs(h.code, title, text)
	h.Score = h.factor * score
	return h
}

// bestPassage is the score of the passage that has the highest, with the title in
// front of each.
func (r Result) bestPassage(list []span, title, text Reading) (best float32) {
	var front, freqs [maxTerms]int
	title.count(0, len(title.text), &front)
	length := wordsOf(title.text)
	average := min(r.norms.average, passageLength)
	for _, p := range list {
		freqs = front
		text.count(p.from, p.to, &freqs)
		sum, bend := float32(0), bendOf(float64(length+p.words), average)
		for i, t := range text.query.terms {
			if freqs[i] > 0 {
				sum += float32(t.weight * r.idf[i] * saturate(float64(freqs[i]), bend))
			}
		}
		best = max(best, sum)
	}
	return best
}

// count adds how often each term stands between two places.
func (r Reading) count(from, to int, freqs *[maxTerms]int) {
	for _, s := range r.spots {
		if s.from < from || s.from >= to {
			continue
		}
		for set := s.terms; set != 0; set &= set - 1 {
			freqs[bits.TrailingZeros32(set)]++
		}
	}
}

// pairs is what the words that stand side by side add to a score.
func (r Result) pairs(code uint8, title, text Reading) (sum float32) {
	bend := r.norms.bend[code]
	for _, p := range text.query.pairs {
		weight := r.groupIDF(text.query, p[0]) + r.groupIDF(text.query, p[1])
		n := titleWeight*title.sideBySide(p) + text.sideBySide(p)
		if n > 0 && weight > 0 {
			sum += float32(pairShare * weight * saturate(float64(n), bend))
		}
	}
	return sum
}

// groupIDF is the weight of a word: of its stem, if it has one.
func (r Result) groupIDF(q Query, group int) (w float32) {
	for i, t := range q.terms {
		if t.group == group && r.idf[i] > 0 {
			w = r.idf[i]
		}
	}
	return w
}

// sideBySide counts how often a word comes right after another one, or only stop
// words between.
func (r Reading) sideBySide(p [2]int) (n int) {
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
