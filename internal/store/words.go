package store

import (
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/search"
)

// Hits by words that are looked at where more than a page of them is needed: to be
// fused with those by meaning, and in conversations, whose turns lend each other
// their scores.
const (
	fusedHits = search.MaxFused
	maxHits   = 1000
)

// words is the keyword leg: the statistics of the index first, then what the texts
// of the best and their neighbours tell.
func (s *finding) words() error {
	key := rankingKey{s.t.who.UserID, s.q.Text, fmt.Sprint(s.reach, s.filter)}
	if s.recall(key) {
		s.hits = merged(s.places, byWords, max(s.want, maxHits))
		return nil
	}
	if err := s.rank(); err != nil {
		return err
	}
	if err := s.reread(); err != nil {
		return err
	}
	for _, p := range s.places {
		p.hits = s.kin(p, p.hits, search.WordTies)
	}
	s.hits = merged(s.places, byWords, max(s.want, maxHits))
	if err := s.best(s.hits); err != nil {
		return err
	}
	s.remember(key)
	return nil
}

// kin gives hits what they get of those beside them.
func (s *finding) kin(p *place, hits []search.Hit, ties search.Ties) []search.Hit {
	if s.q.Without.Has(search.FeatureNeighbours) {
		return hits
	}
	return p.view.Kin(hits, ties, s.filter, int64(s.t.now))
}

// rank ranks by the index alone. A word that one of several workspaces knows is misspelled in none: only what
// nobody knows is corrected.
func (s *finding) rank() error {
	q := s.q.Words
	if len(s.places) == 1 {
		return s.answer(q)
	}
	if err := s.answer(q.Doubting(nil)); err != nil {
		return err
	}
	unknown := q.Suspects()
	for _, p := range s.places {
		if len(unknown) > 0 {
			unknown = p.result.Unknown(p.words, unknown)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return s.answer(q.Doubting(unknown))
}

// answer lets each place answer a query.
func (s *finding) answer(q search.Query) error {
	s.found.Total = 0
	for _, p := range s.places {
		want := max(s.want, search.Reread)
		if s.q.Exact.Wanted() {
			want = max(want, deepReread)
		}
		if s.deep() {
			want = max(want, fusedHits)
		}
		if p.view.Grouped() {
			want = maxHits
		}
		var err error
		if p.words, p.result, err = p.view.Answer(s.t.s.indexes.pages, s.t.page, q, s.filter, int64(s.t.now), want); err != nil {
			return err
		}
		p.hits = p.result.Hits
		s.found.Total += p.result.Total
	}
	return nil
}

// deepReread is of how many hits the texts are looked at for what must be found as
// it stands.
const deepReread = 100

// reread corrects the scores of the best hits by their texts, of as many whatever
// the limit. All others keep their order behind them.
func (s *finding) reread() error {
	deep := search.Reread
	if s.q.Exact.Wanted() {
		deep = deepReread
	}
	top := merged(s.places, byWords, deep+1)
	if len(top) == 0 {
		return nil
	}
	if err := s.fetch(top[:min(len(top), deep)]); err != nil {
		return err
	}
	best, least := top[0].Score, float32(math.Inf(1))
	read := make([]int, len(s.places))
	here := map[*place]bool{}
	for _, x := range s.rows {
		here[x.place] = true
	}
	for i, p := range s.places {
		if here[p] {
			read[i] = s.rereadIn(p, best)
		}
		if read[i] > 0 {
			least = min(least, p.hits[read[i]-1].Score)
		}
	}
	if len(top) > deep && top[deep].Score > least {
		for i, p := range s.places {
			search.Below(p.hits[read[i]:], least, top[deep].Score)
		}
	}
	return nil
}

// rereadIn corrects the scores of those hits of a place whose rows are here, puts
// them first, and returns how many they are.
func (s *finding) rereadIn(p *place, best float32) int {
	n := len(s.rows)
	hits, texts, rows := make([]search.Hit, 0, len(p.hits)), make([]*search.Text, 0, n), make([]*fetched, 0, n)
	var others []search.Hit
	for _, h := range p.hits {
		if x := s.rows[h.Memory]; x != nil {
			hits, texts, rows = append(hits, h), append(texts, s.read(x)), append(rows, x)
		} else {
			others = append(others, h)
		}
	}
	p.result.Reread(p.words, hits, texts)
	lift := p.result.DateLift(p.words, best)
	for i, h := range hits {
		m := &rows[i].memory
		h = h.Near(s.q.Dates, m.Title, m.Content, lift)
		if s.q.Exact.Wanted() && s.q.Exact.Held(m.Title, m.Content) != "" {
			h = h.First(best)
		}
		hits[i] = h
	}
	search.Sort(hits)
	p.hits = append(hits, others...)
	return len(hits)
}

// alone is the margin of a hit that has no other behind it.
const alone = 1e9

// best looks at the best hit by words.
func (s *finding) best(hits []search.Hit) error {
	s.found.Best.Words = s.q.Words.Asks()
	if len(hits) == 0 {
		return nil
	}
	if err := s.fetch(hits[:1]); err != nil {
		return err
	}
	x := s.rows[hits[0].Memory]
	if x == nil {
		return nil // it went meanwhile
	}
	s.found.Best.Words = x.place.words.Asks()
	s.found.Best.Exact = s.q.Exact.Held(x.memory.Title, x.memory.Content)
	s.found.Best.Covered = s.read(x).Covered()
	s.found.Best.Margin = alone
	if len(hits) > 1 && hits[1].Score > 0 {
		s.found.Best.Margin = float64(hits[0].Score / hits[1].Score)
	}
	return nil
}

// read reads the text of a memory.
func (s *finding) read(x *fetched) *search.Text {
	if x.text == nil {
		if x.place.reader == nil {
			x.place.reader = x.place.words.Reader()
		}
		x.text = x.place.reader.Text(x.memory.Title, x.memory.Content)
	}
	return x.text
}

// rewritten lists the words of the query that do not count in some place although it
// knows them, and those for which a place took others.
func (s *finding) rewritten() (ignored []string, corrected []search.Correction) {
	for _, p := range s.places {
		for _, w := range p.words.Ignored() {
			if !slices.Contains(ignored, w) {
				ignored = append(ignored, w)
			}
		}
		for _, c := range p.words.Corrected() {
			if !slices.Contains(corrected, c) {
				corrected = append(corrected, c)
			}
		}
	}
	return ignored[:min(len(ignored), maxIgnored)], corrected[:min(len(corrected), maxCorrected)]
}

// Bounds of what an answer tells of the words of the query.
const (
	maxIgnored   = 100
	maxCorrected = 20
)
