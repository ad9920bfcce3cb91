package replica

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

// clockTolerance is how far the clocks of several servers of one database may differ.
const clockTolerance = loci.Time(time.Minute / time.Microsecond)

// unfinished returns the pairs whose memory on a side was sent, while its id was not saved.
func (r *run) unfinished(s *side) (list []*pairdb.Pair) {
	for _, p := range r.pairs {
		if p.ID[s.place] == "" {
			list = append(list, p)
		}
	}
	return list
}

// findCreated finds the memories that an interrupted run created on a side. They have the text that was sent, and are
// not older than the run. Two equal texts are as good as each other.
func (r *run) findCreated(ctx context.Context, s *side) error {
	pairs := r.unfinished(s)
	if len(pairs) == 0 {
		return nil
	}
	first := slices.MinFunc(pairs, func(a, b *pairdb.Pair) int { return cmp.Compare(a.SentAfter, b.SentAfter) })
	candidates, err := r.candidates(ctx, s, first.SentAfter)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		i := slices.IndexFunc(candidates, func(e *entry) bool {
			return e.sent == p.Sent && e.createdAt >= p.SentAfter-clockTolerance
		})
		if i < 0 {
			continue
		}
		if err := r.complete(ctx, p, s, candidates[i]); err != nil {
			return err
		}
		candidates = slices.Delete(candidates, i, i+1)
	}
	return nil
}

// complete adds the created memory of a side to its pair.
func (r *run) complete(ctx context.Context, p *pairdb.Pair, s *side, e *entry) error {
	p.ID[s.place], p.State[s.place], p.Sent = e.id, "", "" // a foreign state is a change
	if e.hasSum(p.Pending...) {
		p.State[s.place] = e.state()
	} else if len(p.Pending) == 1 { // the creation was the whole copy
		p.Pending = nil
	}
	r.indexPair(p)
	return r.save(ctx, p)
}

// candidates returns the memories without a pair that the user has created on a side since a time, oldest first.
func (r *run) candidates(ctx context.Context, s *side, since loci.Time) (list []*entry, err error) {
	for _, ref := range slices.Backward(s.pages) {
		for _, id := range slices.Backward(ref.ids) {
			e := s.entries[id]
			if e.createdAt < since-clockTolerance || e.createdBy != s.user || r.byID[s.place][id] != nil ||
				r.isElsewhere(s, id) {
				continue
			}
			if e.sent == "" {
				if e.sent, err = s.firstSent(ctx, id); err != nil {
					return nil, err
				}
			}
			list = append(list, e)
		}
	}
	return list, nil
}
