package search

import (
	"cmp"
	"slices"
)

// Ties are what a memory gets of the scores of those that stand next to it in a
// conversation, of those after them, and of the best one of all.
type Ties struct{ beside, second, group float32 }

// The ties of the two legs. An answer often holds no word of the question, which
// stands in the turn before it: measured on conversations, .05 of nDCG and .10 of
// recall by words, .02 by meaning. Numbers half or twice as large are as good.
var (
	WordTies    = Ties{.3, .1, .3}
	MeaningTies = Ties{.1, 0, .1}
)

// maxKin is of how many hits the neighbours are looked for.
const maxKin = 200

// Kin moves the hits of a search by their neighbours in the groups that they
// belong to, and adds neighbours that the filter admits. Hits are best first,
// before and after. The hits of a workspace without groups stay as they are.
func (v *View) Kin(hits []Hit, ties Ties, f Filter, now int64) []Hit {
	if !v.Grouped() {
		return hits
	}
	w := &relatives{view: v, ties: ties, filter: &f, now: now, known: map[int64]int{}}
	for i, h := range hits {
		w.meet(h, i < maxKin)
	}
	w.spread()
	Sort(w.hits)
	return w.hits
}

// Grouped reports whether any memory belongs to a group.
func (v *View) Grouped() bool { return v.grouped }

// relatives are the hits of a search, and those of a group in their order.
type relatives struct {
	view   *View
	ties   Ties
	filter *Filter
	now    int64
	hits   []Hit
	known  map[int64]int // in hits, by memory
	places []kinPlace
	rows   []kinPlace // the unfolded rows with a group, in order
	sorted bool
}

// kinPlace is where a hit, or a row, stands in its group.
type kinPlace struct {
	group, position int64
	at              int
}

func (p kinPlace) compare(q kinPlace) int {
	return cmp.Or(cmp.Compare(p.group, q.group), cmp.Compare(p.position, q.position), cmp.Compare(p.at, q.at))
}

// meet adds a hit, and those that stand beside it.
func (w *relatives) meet(h Hit, near bool) {
	segment, doc := w.view.locate(h.Memory)
	if doc < 0 {
		return
	}
	group, position := w.place(segment, doc)
	if at, there := w.known[h.Memory]; there {
		w.hits[at] = h // it came as a neighbour before
	} else {
		w.add(h, group, position)
	}
	if group == 0 || !near {
		return
	}
	for _, step := range []int64{-2, -1, 1, 2} {
		w.seek(group, position+step)
	}
}

func (w *relatives) add(h Hit, group, position int64) {
	at := len(w.hits)
	w.hits, w.known[h.Memory] = append(w.hits, h), at
	if group != 0 {
		w.places = append(w.places, kinPlace{group, position, at})
	}
}

func (w *relatives) place(segment, doc int) (group, position int64) {
	if segment < 0 {
		a := &w.view.rows[doc]
		return a.Group, a.Position
	}
	return w.view.segments[segment].place(doc)
}

// seek adds the memories of a place in a group that are no hits yet.
func (w *relatives) seek(group, position int64) {
	for _, g := range w.view.segments {
		if len(g.grouped) == 0 {
			continue
		}
		for _, doc := range g.at(group, position) {
			if !isSet(g.dead, int(doc)) {
				w.admit(g.attributes(int(doc)), g.codes[doc])
			}
		}
	}
	for _, p := range w.unfolded() {
		if p.group == group && p.position == position {
			w.admit(w.view.rows[p.at], w.view.codes[p.at])
		}
	}
}

func (w *relatives) admit(a Attributes, code uint8) {
	if _, there := w.known[a.Memory]; !there && w.filter.admits(&a) {
		w.add(Hit{Memory: a.Memory, Created: a.Created, factor: standing(a.ValidUntil, a.Verified, w.now), code: code}, a.Group, a.Position)
	}
}

// unfolded lists the rows that have a group.
func (w *relatives) unfolded() []kinPlace {
	if !w.sorted {
		w.sorted = true
		for i, a := range w.view.rows {
			if a.Group != 0 && !isSet(w.view.dead, i) {
				w.rows = append(w.rows, kinPlace{a.Group, a.Position, i})
			}
		}
	}
	return w.rows
}

// spread gives every hit its part of the scores around it. Scores are taken
// without what the state of their memories makes of them.
func (w *relatives) spread() {
	slices.SortFunc(w.places, kinPlace.compare)
	raw := make([]float32, len(w.places))
	for i, p := range w.places {
		raw[i] = w.hits[p.at].Score / w.hits[p.at].factor
	}
	for from := 0; from < len(w.places); {
		to := from
		for to < len(w.places) && w.places[to].group == w.places[from].group {
			to++
		}
		best, lean := slices.Max(raw[from:to]), w.leaning(w.places[from:to])
		for i := from; i < to; i++ {
			h := &w.hits[w.places[i].at]
			lift := float32(w.ties.group*best) + w.around(raw, i, from, to)
			h.Score = h.factor * (raw[i] + float32(lean*lift))
		}
		from = to
	}
}

// A turn of a conversation has few words, and often none of the question that it
// answers: all that is around it counts. Sections of a document speak for themselves:
// with the whole lift, documentation and programs whose sections had their places lost
// .011 and .022 of nDCG. Where the hits of a group have fullLean words on average, the
// whole lift counts, and from noLean on none. Conversations lose nothing by that.
const (
	fullLean = 64
	noLean   = 80
)

// leaning is how much of what is around them counts for the hits of a group.
func (w *relatives) leaning(group []kinPlace) float32 {
	sum := 0.
	for _, p := range group {
		sum += codeLength(w.hits[p.at].code)
	}
	return float32(min(1, max(0, (noLean-sum/float64(len(group)))/(noLean-fullLean))))
}

// around is what a place gets of those next to it.
func (w *relatives) around(raw []float32, i, from, to int) (sum float32) {
	for j := i - 1; j >= from && w.places[i].position-w.places[j].position <= 2; j-- {
		sum += float32(w.share(w.places[i].position-w.places[j].position) * raw[j])
	}
	for j := i + 1; j < to && w.places[j].position-w.places[i].position <= 2; j++ {
		sum += float32(w.share(w.places[j].position-w.places[i].position) * raw[j])
	}
	return sum
}

func (w *relatives) share(distance int64) float32 {
	switch distance {
	case 1:
		return w.ties.beside
	case 2:
		return w.ties.second
	}
	return 0
}

// at lists the documents of a segment at a place in a group.
func (c *columns) at(group, position int64) (docs []uint32) {
	order := c.kin()
	i, _ := slices.BinarySearchFunc(order, kinPlace{group: group, position: position}, func(x uint32, p kinPlace) int {
		return cmp.Or(cmp.Compare(c.groups[x], p.group), cmp.Compare(c.position[x], p.position))
	})
	for ; i < len(order) && c.groups[order[i]] == group && c.position[order[i]] == position; i++ {
		docs = append(docs, c.grouped[order[i]])
	}
	return docs
}

func (c *columns) sortKin() []uint32 {
	order := make([]uint32, len(c.grouped))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(c.groups[a], c.groups[b]), cmp.Compare(c.position[a], c.position[b]), cmp.Compare(a, b))
	})
	return order
}
