package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// A Found is a memory with its score.
type Found struct {
	Memory loci.Memory
	Score  float64
}

// Findings are what a keyword search found: a page of the candidates, best
// first, ties by id, and how many there are in all.
type Findings struct {
	Page    []Found
	Total   int
	More    bool
	Words   int // that the query asks for
	Covered int // that the best memory holds
}

// Find searches the places of a filter by keywords. Each workspace is ranked
// by its own statistics alone, then they are merged by score. At most
// skip+limit candidates are looked at.
func (t *Tx) Find(q search.Query, f Filter, skip, limit int) (found Findings, err error) {
	r, err := t.reach(f)
	if err != nil {
		return found, err
	}
	once := func() (err error) {
		found, err = t.find(r, q, f, skip, limit)
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
	// Folds come faster than the search reads.
	if err = t.snapshot(once); errors.Is(err, errStale) {
		err = busy(err)
	}
	return found, err
}

func (t *Tx) find(r reach, q search.Query, f Filter, skip, limit int) (found Findings, err error) {
	hits, found, err := t.rank(r, q, f, skip+limit+1)
	if err != nil {
		return found, err
	}
	found.More = len(hits) > skip+limit
	hits = hits[min(skip, len(hits)):min(skip+limit, len(hits))]
	found.Page, err = t.fetch(hits)
	return found, err
}

// rank returns the best hits of each place, merged by score, and what there is
// to say of all.
func (t *Tx) rank(r reach, q search.Query, f Filter, most int) (hits []search.Hit, found Findings, err error) {
	states, err := t.indexStates(r)
	if err != nil {
		return nil, found, err
	}
	narrow, pages := f.search(r), t.s.indexes.pages.Through(t.page)
	var best float32
	for _, state := range states {
		x, err := t.view(state)
		if err != nil {
			return nil, found, err
		}
		result, err := x.view.Search(pages, q, narrow, int64(t.now), most)
		if err != nil {
			return nil, found, err
		}
		if len(result.Hits) > 0 && (len(hits) == 0 || result.Hits[0].Score > best) {
			best, found.Words, found.Covered = result.Hits[0].Score, result.Words, result.Covered
		}
		hits, found.Total = append(hits, result.Hits...), found.Total+result.Total
	}
	slices.SortFunc(hits, func(a, b search.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Memory, b.Memory))
	})
	return hits, found, nil
}

// search returns the filter in the words of the keyword index.
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

// fetch reads the rows of hits. Scores are shown with four digits.
func (t *Tx) fetch(hits []search.Hit) ([]Found, error) {
	scores := make(map[int64]float64, len(hits))
	rids := make([]int64, len(hits))
	for i, h := range hits {
		rids[i], scores[h.Memory] = h.Memory, math.Round(float64(h.Score)*1e4)/1e4
	}
	page := make([]Found, 0, len(hits))
	if len(hits) == 0 {
		return page, nil
	}
	q := `SELECT` + memoryColumns + `, e.rid FROM ` + fmt.Sprintf(t.s.db.dialect().anyOf, 2, "memories e", "e.rid") +
		t.mine("e.workspace") + `JOIN atlases a ON a.rid = e.atlas`
	err := t.few(q, []any{integers(rids)}, func(r row) error {
		var rid int64
		m, err := t.scanMemory(r, &rid)
		page = append(page, Found{m, scores[rid]})
		return err
	})
	slices.SortFunc(page, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Memory.ID, b.Memory.ID))
	})
	return page, err
}
