package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// A Question is what a search looks for: words, a meaning, or both, whose ranks
// are fused then.
type Question struct {
	Text    string
	Words   search.Query
	Exact   search.Exact  // what of it is to be found as it stands
	Dates   []search.Date // that it names
	Meaning []Meaning     // of each model that may answer; without one words alone count
	Without search.Features
	Fuse    bool // words and meaning; else meaning alone, where there is one
	Deep    bool // it may be asked again to be fused

	before *reading
}

// After is q asked after it was answered by words: what was read then is not read
// again where nothing has changed since.
func (q Question) After(f Findings) Question {
	q.before = f.read
	return q
}

// A reading is the rows that a search has read, and the places that they are of.
type reading struct {
	places []*place
	rows   map[int64]*fetched
}

// Ask makes a Question of a text, to be answered without some features.
func Ask(text string, without search.Features) Question {
	q := Question{Text: text, Words: search.Parse(text).Without(without), Without: without}
	if !without.Has(search.FeatureExact) {
		q.Exact = search.NewExact(text)
	}
	if !without.Has(search.FeatureDates) {
		q.Dates = search.Dates(text)
	}
	return q
}

// A Meaning is the vector of a query. A workspace that answers from the vectors of
// another model knows nothing of it.
type Meaning struct {
	Generation string // as the embedder names it
	Vector     []float32
}

// A Found is a memory with its score, and where in it the words stand.
type Found struct {
	Memory  loci.Memory
	Score   float64
	Reading search.Reading
	Passage int // whose meaning counted, from 1 on; 0 if none did
}

// Findings are what a search found: a page of the candidates, best first, of equal
// ones the earlier made first, and how many each leg found in all.
type Findings struct {
	Page     []Found
	More     bool
	Shown    Shown // what this page and those before it show
	Total    int   // memories that hold a word of the query
	Semantic int   // memories that were compared by their meaning
	Known    bool  // the words had been ranked before
	Best     Best

	Ignored   []string            // words of the query that did not count: see search.Query.Ignored
	Corrected []search.Correction // words for which others were searched

	read *reading

	KeywordTook, SemanticTook, FuseTook time.Duration
}

// Best tells how well the best memory answers a query by its words.
type Best struct {
	Words   int     // that the query asks for
	Covered int     // of them, those that it holds
	Margin  float64 // its score over that of the next one
	Exact   string  // in which way it is exactly what was asked for: see search.Exact
}

// Find searches the places of a filter. Each workspace is ranked by its own
// statistics alone, then they are merged by score. What was shown before is passed
// over; at most limit candidates are shown then.
func (t *Tx) Find(q Question, f Filter, before Shown, limit int) (found Findings, err error) {
	r, err := t.reach(f)
	if err != nil {
		return found, err
	}
	once := func() (err error) {
		s := &finding{t: t, q: q, reach: r, filter: f.search(r), want: before.Len() + limit + 1, rows: map[int64]*fetched{}}
		if err = s.run(); err == nil {
			found, err = s.page(before, limit)
		}
		return err
	}
	for range 3 {
		if err = once(); !errors.Is(err, errStale) {
			return found, err
		}
		for _, w := range r.workspaces {
			t.s.indexes.drop(w)
		}
	}
	// Folds come faster than the search reads, or pages of the index are lost.
	if err = t.snapshot(once); errors.Is(err, errStale) {
		corruptIndexReads.Add(1)
		err = busy(err)
	}
	return found, err
}

// A finding is one search under way.
type finding struct {
	t      *Tx
	q      Question
	reach  reach
	filter search.Filter
	want   int // hits

	places []*place
	rows   map[int64]*fetched
	hits   []search.Hit // of all places, best first
	found  Findings
}

// A fetched memory is one whose row was read, and its text once that was read for
// the words of the question.
type fetched struct {
	memory loci.Memory
	place  *place
	text   *search.Text
}

// A place is one workspace in a finding.
type place struct {
	state   indexState
	view    *search.View
	words   search.Query   // of the question, as this workspace can answer it
	reader  *search.Reader // of texts for them
	result  search.Result
	hits    []search.Hit // by words
	nearest []search.Hit // by meaning

	codes *search.Codes
	probe *search.Probe
	whole bool // nearest holds all that can be found by meaning
}

func (s *finding) run() error {
	if err := s.open(); err != nil {
		return err
	}
	if len(s.q.Meaning) == 0 || s.q.Fuse {
		began := time.Now()
		if err := s.words(); err != nil {
			return err
		}
		s.found.KeywordTook = time.Since(began)
	}
	if len(s.q.Meaning) == 0 {
		return nil
	}
	began := time.Now()
	if err := s.meaning(); err != nil {
		return err
	}
	nearest := merged(s.places, byMeaning, math.MaxInt)
	s.found.Semantic, s.found.SemanticTook = len(nearest), time.Since(began)
	if !s.q.Fuse {
		s.hits = nearest
		return nil
	}
	began = time.Now()
	s.hits = s.fuse(nearest)
	s.found.FuseTook = time.Since(began)
	if len(s.hits) < s.want {
		return s.beyond()
	}
	return nil
}

// fuse ranks the best of both legs together, the same for every page. What words
// found beyond them comes behind.
func (s *finding) fuse(nearest []search.Hit) []search.Hit {
	best := min(len(s.hits), fusedHits)
	fused := search.Fuse(s.hits[:best], nearest, s.want, s.q.Without)
	if len(fused) == 0 || len(fused) >= s.want {
		return fused
	}
	last := fused[len(fused)-1].Score
	for _, h := range s.hits[best:] {
		if !slices.ContainsFunc(nearest, func(n search.Hit) bool { return n.Memory == h.Memory }) {
			h.Score = last
			fused = append(fused, h)
		}
	}
	return fused
}

// open reads the states of the indexes.
func (s *finding) open() error {
	states, err := s.t.indexStates(s.reach)
	if err != nil {
		return err
	}
	all := make([]place, len(states))
	s.places = make([]*place, len(states))
	for i, state := range states {
		x, err := s.t.view(state)
		if err != nil {
			return err
		}
		all[i] = place{state: state, view: x.view, words: s.q.Words}
		s.places[i] = &all[i]
	}
	return nil
}

// mergedAtOnce is how many hits are gathered at least before those are dropped that are not wanted.
const mergedAtOnce = 64

// merged are the hits of all places by score, the best ones, at most that many. The hits of each place are best
// first: none is looked at behind one that is too bad.
func merged(places []*place, of func(*place) []search.Hit, most int) (hits []search.Hit) {
	if len(places) == 1 {
		hits = of(places[0])
		return hits[:min(len(hits), most)]
	}
	least := float32(math.Inf(-1))
	for _, p := range places {
		for _, h := range of(p) {
			if h.Score < least {
				break
			}
			hits = append(hits, h)
		}
		if len(hits) > mergedAtOnce && len(hits)/2 > most {
			hits = search.TopN(hits, most)
			least = hits[most-1].Score
		}
	}
	return search.TopN(hits, most)
}

func byWords(p *place) []search.Hit { return p.hits }

func byMeaning(p *place) []search.Hit { return p.nearest }

// page shows a page of the hits. Scores are shown with four digits.
func (s *finding) page(before Shown, limit int) (Findings, error) {
	hits, more, shown := s.turned(before, limit)
	s.found.read = &reading{s.places, s.rows}
	s.found.Ignored, s.found.Corrected = s.rewritten()
	fit, err := s.fill(hits)
	if err != nil {
		return s.found, err
	}
	if fit < len(hits) {
		hits, more, shown = s.turned(before, fit)
	}
	s.found.More, s.found.Shown = more, shown
	s.found.Page = make([]Found, 0, len(hits))
	for _, h := range hits {
		if x := s.rows[h.Memory]; x != nil {
			s.found.Page = append(s.found.Page, Found{x.memory, math.Round(float64(h.Score)*1e4) / 1e4, s.read(x).Content, h.Passage})
		}
	}
	return s.found, nil
}

// turned are the best hits that were not shown before, whether there are more of them,
// and what is shown then.
func (s *finding) turned(before Shown, limit int) (hits []search.Hit, more bool, shown Shown) {
	known, next := before.marks(), []byte(before)
	for _, h := range s.hits {
		m := s.t.s.shownMark(h.Memory)
		switch {
		case known[m]:
		case len(hits) == limit:
			return hits, true, Shown(next)
		default:
			hits, next = append(hits, h), append(next, m[:]...)
		}
	}
	return hits, false, Shown(next)
}

// highlightRoom is what the highlights of a memory may take on a page.
const highlightRoom = 8 << 10

// fill reads the rows of hits, some at a time, and returns how many of the hits a
// page has room for.
func (s *finding) fill(hits []search.Hit) (int, error) {
	page := room{bytes: pageRoom}
	for i := 0; i < len(hits); i += readAtOnce {
		some := hits[i:min(i+readAtOnce, len(hits))]
		if err := s.fetch(some); err != nil {
			return 0, err
		}
		for j, h := range some {
			if x := s.rows[h.Memory]; x != nil && !page.take(JSONSize(&x.memory)+highlightRoom) {
				return i + j, nil
			}
		}
	}
	return len(hits), nil
}

// fetch reads the rows of hits that were not read before.
func (s *finding) fetch(hits []search.Hit) error {
	var rids []int64
	for _, h := range hits {
		if s.rows[h.Memory] == nil {
			rids = append(rids, h.Memory)
		}
	}
	if len(rids) == 0 {
		return nil
	}
	q := `SELECT` + memoryColumns + `, e.rid, e.workspace FROM ` + fmt.Sprintf(s.t.s.db.dialect().anyOf, 2, "memories e", "e.rid") +
		s.t.mine("e.workspace") + `JOIN atlases a ON a.rid = e.atlas`
	var rid, home int64
	scan := s.t.memoryScanner(&rid, &home)
	return s.t.few(q, []any{integers(rids)}, func(r row) error {
		m, err := scan(r)
		at, there := slices.BinarySearchFunc(s.places, home, func(p *place, w int64) int { return cmp.Compare(p.state.workspace, w) })
		if there {
			s.rows[rid] = &fetched{memory: m, place: s.places[at]}
		}
		return err
	})
}

// search returns the filter in the words of the index.
func (f Filter) search(r reach) (s search.Filter) {
	if r.atlas != 0 {
		s.Atlases = []int64{r.atlas}
	}
	for _, k := range f.Kinds {
		s.Kinds |= 1 << slices.Index(loci.Kinds, k)
	}
	for _, n := range f.statuses() {
		s.Statuses |= 1 << n
	}
	s.Tags = f.Tags
	return s
}
