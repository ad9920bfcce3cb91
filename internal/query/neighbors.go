package query

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/internal/index"
)

// NeighborWeights are the weights of the scores of a conversation in the score of a memory: of adjacent memories, of
// those two apart, and of the best one. The best one may be the memory itself.
type NeighborWeights struct{ Adjacent, TwoApart, GroupBest float32 }

// maxExpandedHits is the number of best hits whose neighbors are added.
const maxExpandedHits = 200

// BoostNeighbors raises the scores of hits by their neighbors in the same group, and adds neighbors that the filter
// admits. Hits are sorted, before and after. Without groups in the workspace they do not change.
func BoostNeighbors(v *index.Snapshot, hits []Hit, weights NeighborWeights, f index.Filter, now int64) []Hit {
	if !v.HasGroups() {
		return hits
	}
	w := &neighborBooster{docs: v.Filtered(f), weights: weights, now: now, hitIndex: map[int64]int{}}
	for i, h := range hits {
		w.addWithNeighbors(h, i < maxExpandedHits)
	}
	w.applyBoost()
	SortHits(w.hits)
	return w.hits
}

// neighborBooster holds the hits of a search, and their positions in groups.
type neighborBooster struct {
	docs              *index.FilteredDocs
	weights           NeighborWeights
	now               int64
	hits              []Hit
	hitIndex          map[int64]int // index in hits by memory
	positions         []groupPosition
	memtablePositions []groupPosition // live rows of the memtable with a group
	memtableLoaded    bool
}

// groupPosition is the position of a hit or of a row of the memtable in its group.
type groupPosition struct {
	group, position int64
	index           int
}

func (p groupPosition) compare(q groupPosition) int {
	return cmp.Or(cmp.Compare(p.group, q.group), cmp.Compare(p.position, q.position), cmp.Compare(p.index, q.index))
}

// addWithNeighbors adds a hit, and its neighbors if near is set.
func (w *neighborBooster) addWithNeighbors(h Hit, near bool) {
	segment, doc := w.docs.Locate(h.Memory)
	if doc < 0 {
		return
	}
	group, position := w.groupOf(segment, doc)
	if at, exists := w.hitIndex[h.Memory]; exists {
		w.hits[at] = h // it was added as a neighbor
	} else {
		w.appendHit(h, group, position)
	}
	if group == 0 || !near {
		return
	}
	for _, step := range []int64{-2, -1, 1, 2} {
		w.addNeighborsAt(group, position+step)
	}
}

func (w *neighborBooster) appendHit(h Hit, group, position int64) {
	at := len(w.hits)
	w.hits, w.hitIndex[h.Memory] = append(w.hits, h), at
	if group != 0 {
		w.positions = append(w.positions, groupPosition{group, position, at})
	}
}

func (w *neighborBooster) groupOf(segment, doc int) (group, position int64) {
	if segment < 0 {
		a := &w.docs.Rows()[doc]
		return a.Group, a.Position
	}
	return w.docs.Segments()[segment].GroupOf(doc)
}

// addNeighborsAt adds the memories at a position of a group that are not among the hits.
func (w *neighborBooster) addNeighborsAt(group, position int64) {
	for i, g := range w.docs.Segments() {
		if !g.HasGroups() {
			continue
		}
		for _, doc := range g.DocsAt(group, position) {
			if !g.IsDeleted(int(doc)) {
				w.addIfMatching(i, int(doc), group, position)
			}
		}
	}
	for _, p := range w.loadMemtablePositions() {
		if p.group == group && p.position == position {
			w.addIfMatching(-1, p.index, group, position)
		}
	}
}

// addIfMatching adds a document without a score of its own, if the filter admits it and it is no hit.
func (w *neighborBooster) addIfMatching(segment, doc int, group, position int64) {
	if !w.docs.Matches(segment, doc) {
		return
	}
	h := newHit(w.docs.Snapshot, segment, doc, w.now)
	if _, exists := w.hitIndex[h.Memory]; !exists {
		w.appendHit(h, group, position)
	}
}

// loadMemtablePositions returns the positions of the rows of the memtable with a group.
func (w *neighborBooster) loadMemtablePositions() []groupPosition {
	if !w.memtableLoaded {
		w.memtableLoaded = true
		for i, a := range w.docs.Rows() {
			if a.Group != 0 && !w.docs.IsRowDeleted(i) {
				w.memtablePositions = append(w.memtablePositions, groupPosition{a.Group, a.Position, i})
			}
		}
	}
	return w.memtablePositions
}

// applyBoost adds the weighted scores of neighbors to each hit. Scores are compared without the factors of states.
func (w *neighborBooster) applyBoost() {
	slices.SortFunc(w.positions, groupPosition.compare)
	raw := make([]float32, len(w.positions))
	for i, p := range w.positions {
		raw[i] = w.hits[p.index].Score / w.hits[p.index].stateFactor
	}
	for from := 0; from < len(w.positions); {
		to := from
		for to < len(w.positions) && w.positions[to].group == w.positions[from].group {
			to++
		}
		best, lengthFactor := slices.Max(raw[from:to]), w.lengthFactor(w.positions[from:to])
		for i := from; i < to; i++ {
			h := &w.hits[w.positions[i].index]
			boost := float32(w.weights.GroupBest*best) + w.neighborScore(raw, i, from, to)
			h.Score = h.stateFactor * (raw[i] + float32(lengthFactor*boost))
		}
		from = to
	}
}

// Mean lengths of the hits of a group, in words, between which the boost falls from full to none. A turn of a
// conversation has few words, and often none of the question that it answers. Sections of a document are longer and
// need no context. With the full boost, documentation and programs with positions lost .011 and .022 of nDCG.
// Conversations lose nothing by the limits.
const (
	fullBoostLength = 64
	noBoostLength   = 80
)

// lengthFactor returns the factor of the boost for the hits of a group.
func (w *neighborBooster) lengthFactor(group []groupPosition) float32 {
	sum := 0.
	for _, p := range group {
		sum += index.DecodeLength(w.hits[p.index].lengthCode)
	}
	return float32(min(1, max(0, (noBoostLength-sum/float64(len(group)))/(noBoostLength-fullBoostLength))))
}

// neighborScore returns the weighted scores of the neighbors of position i.
func (w *neighborBooster) neighborScore(raw []float32, i, from, to int) (sum float32) {
	for j := i - 1; j >= from && w.positions[i].position-w.positions[j].position <= 2; j-- {
		sum += float32(w.weightAt(w.positions[i].position-w.positions[j].position) * raw[j])
	}
	for j := i + 1; j < to && w.positions[j].position-w.positions[i].position <= 2; j++ {
		sum += float32(w.weightAt(w.positions[j].position-w.positions[i].position) * raw[j])
	}
	return sum
}

func (w *neighborBooster) weightAt(distance int64) float32 {
	switch distance {
	case 1:
		return w.weights.Adjacent
	case 2:
		return w.weights.TwoApart
	}
	return 0
}
