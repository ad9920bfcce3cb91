package query

import (
	"github.com/loci-memory/loci/internal/index"
)

// NeighborWeights are the weights of the scores of a conversation in the score of a memory. They belong to adjacent
// memories, to those two apart, and to the best one. The best one may be the memory itself.
type NeighborWeights struct{ Adjacent, TwoApart, GroupBest float32 }

// maxExpandedHits is the number of best hits whose neighbors are added. maxNeighbors is the number of neighbors.
// Memories may share a position; without such memories all neighbors are added.
const (
	maxExpandedHits = 200
	maxNeighbors    = 4 * maxExpandedHits
)

// BoostNeighbors raises the scores of hits by their neighbors in the same group, and adds neighbors that the filter
// admits. Hits are sorted, before and after. Without groups in the workspace they do not change.
func BoostNeighbors(v *index.Snapshot, hits []Hit, weights NeighborWeights, f index.Filter, now int64) []Hit {
	if !v.HasGroups() {
		return hits
	}
	w := &neighborBooster{docs: v.Filtered(f), weights: weights, now: now, hitIndex: map[int64]int{},
		visited: map[groupPosition]bool{}}
	for i, h := range hits {
		w.addWithNeighbors(h, i < maxExpandedHits)
	}
	w.applyBoost()
	SortHits(w.hits)
	return w.hits
}

// neighborBooster holds the hits of a search, and their positions in groups.
type neighborBooster struct {
	docs      *index.FilteredDocs
	weights   NeighborWeights
	now       int64
	hits      []Hit
	positions []groupPosition // of the hits
	hitIndex  map[int64]int   // index in hits by memory
	neighbors int             // hits that were added as neighbors
	visited   map[groupPosition]bool
	rows      map[groupPosition][]int // live rows of the memtable with a group; nil until they are needed
}

// groupPosition is a position in a group. Group 0 is none.
type groupPosition struct{ group, position int64 }

// addWithNeighbors adds a hit, and its neighbors if near is set.
func (w *neighborBooster) addWithNeighbors(h Hit, near bool) {
	segment, doc := w.docs.Locate(h.Memory)
	if doc < 0 {
		return
	}
	p := w.positionOf(segment, doc)
	if at, exists := w.hitIndex[h.Memory]; exists {
		w.hits[at] = h // it was added as a neighbor
	} else {
		w.appendHit(h, p)
	}
	if p.group == 0 || !near {
		return
	}
	for _, step := range []int64{-2, -1, 1, 2} {
		w.addNeighborsAt(groupPosition{p.group, p.position + step})
	}
}

func (w *neighborBooster) appendHit(h Hit, p groupPosition) {
	w.hitIndex[h.Memory] = len(w.hits)
	w.hits, w.positions = append(w.hits, h), append(w.positions, p)
}

func (w *neighborBooster) positionOf(segment, doc int) groupPosition {
	if segment < 0 {
		a := &w.docs.Rows()[doc]
		return groupPosition{a.Group, a.Position}
	}
	group, position := w.docs.Segments()[segment].GroupOf(doc)
	return groupPosition{group, position}
}

// addNeighborsAt adds the memories at a position of a group that are not among the hits.
func (w *neighborBooster) addNeighborsAt(p groupPosition) {
	if w.visited[p] {
		return
	}
	w.visited[p] = true
	for i, g := range w.docs.Segments() {
		if !g.HasGroups() {
			continue
		}
		for _, doc := range g.DocsAt(p.group, p.position) {
			if !g.IsDeleted(int(doc)) {
				w.addIfMatching(i, int(doc), p)
			}
		}
	}
	for _, row := range w.groupedRows()[p] {
		w.addIfMatching(-1, row, p)
	}
}

// addIfMatching adds a document without a score of its own, if the filter admits it and it is no hit.
func (w *neighborBooster) addIfMatching(segment, doc int, p groupPosition) {
	if w.neighbors == maxNeighbors || !w.docs.Matches(segment, doc) {
		return
	}
	h := newHit(w.docs.Snapshot, segment, doc, w.now)
	if _, exists := w.hitIndex[h.Memory]; !exists {
		w.neighbors++
		w.appendHit(h, p)
	}
}

// groupedRows returns the live rows of the memtable with a group, by position.
func (w *neighborBooster) groupedRows() map[groupPosition][]int {
	if w.rows == nil {
		w.rows = map[groupPosition][]int{}
		for i, a := range w.docs.Rows() {
			if p := (groupPosition{a.Group, a.Position}); a.Group != 0 && !w.docs.IsRowDeleted(i) {
				w.rows[p] = append(w.rows[p], i)
			}
		}
	}
	return w.rows
}

// groupStats are the best score and the lengths of the hits of a group.
type groupStats struct {
	best    float32
	lengths float64 // sum of the lengths in words
	hits    int
}

// applyBoost adds the weighted scores of neighbors to each hit. Scores are compared without the factors of states.
func (w *neighborBooster) applyBoost() {
	sums, groups := map[groupPosition]float32{}, map[int64]*groupStats{}
	for i, p := range w.positions {
		if p.group == 0 {
			continue
		}
		raw, g := w.hits[i].rawScore(), groups[p.group]
		if g == nil {
			g = &groupStats{best: raw}
			groups[p.group] = g
		}
		g.best, g.lengths, g.hits = max(g.best, raw), g.lengths+index.DecodeLength(w.hits[i].lengthCode), g.hits+1
		sums[p] += raw
	}
	for i, p := range w.positions {
		if g := groups[p.group]; g != nil {
			boost := float32(w.weights.GroupBest*g.best) + w.neighborScore(sums, p)
			h := &w.hits[i]
			h.setRawScore(h.rawScore() + float32(g.lengthFactor()*boost))
		}
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
func (g *groupStats) lengthFactor() float32 {
	return float32(min(1, max(0, (noBoostLength-g.lengths/float64(g.hits))/(noBoostLength-fullBoostLength))))
}

// neighborScore returns the weighted sums of the scores at the positions beside one.
func (w *neighborBooster) neighborScore(sums map[groupPosition]float32, p groupPosition) (sum float32) {
	at := func(step int64) float32 { return sums[groupPosition{p.group, p.position + step}] }
	for _, direction := range []int64{-1, 1} {
		sum += float32(w.weights.Adjacent * at(direction))
		sum += float32(w.weights.TwoApart * at(2*direction))
	}
	return sum
}
