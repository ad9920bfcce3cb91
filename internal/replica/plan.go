package replica

import (
	"context"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

// A task is one memory to create, update or delete on side to.
type task struct {
	action string
	to     *side
	pair   *pairdb.Pair // nil for a memory without one
	id     loci.ID      // of the memory to copy, on the other side
	title  string
	done   bool
	before pairdb.Pair // the pair before the creation was begun
}

// plan compares both sides with the pairs and decides what to do.
func (r *run) plan(ctx context.Context) error {
	for _, p := range slices.Clone(r.pairs) {
		if err := r.planPair(ctx, p); err != nil {
			return err
		}
	}
	for id, e := range r.from.entries {
		if r.byID[r.from.place][id] == nil && !r.isElsewhere(r.from, id) && r.selected(r.from, e) {
			r.tasks[id] = &task{action: created, to: r.to, id: id, title: e.title}
		}
	}
	for id, e := range r.to.entries {
		if r.byID[r.to.place][id] == nil && !r.isElsewhere(r.to, id) && r.selected(r.to, e) {
			r.report.Waiting++
		}
	}
	return nil
}

// isElsewhere reports whether a memory has its copy in another workspace of the account.
func (r *run) isElsewhere(s *side, id loci.ID) bool { return s.place == pairdb.Here && r.elsewhere[id] }

// selected reports whether a memory is in the selected atlas.
func (r *run) selected(s *side, e *entry) bool {
	return r.Atlas == "" || s.atlasNames[e.atlas] == r.Atlas
}

// planPair decides about a pair.
func (r *run) planPair(ctx context.Context, p *pairdb.Pair) error {
	from, to := r.entry(r.from, p), r.entry(r.to, p)
	switch {
	case from == nil && to == nil:
		return r.planGone(ctx, p)
	case from != nil && !r.selected(r.from, from), from == nil && !r.selected(r.to, to):
		return nil
	case from == nil:
		return r.planDeleted(ctx, p, r.from, r.to)
	case to == nil:
		return r.planDeleted(ctx, p, r.to, r.from)
	}
	changedFrom, changedTo := r.changed(p, r.from.place), r.changed(p, r.to.place)
	switch {
	case !changedFrom && !changedTo, changedFrom && changedTo && r.same(p, from, to):
		r.report.Unchanged++
		return r.markSame(ctx, p)
	case changedFrom && changedTo:
		r.planConflict(p, Conflict{Here: "changed", There: "changed"}, func(winner *side) bool {
			r.addTask(updated, r.other(winner), p)
			return true
		})
	case changedFrom:
		r.addTask(updated, r.to, p)
	default:
		r.report.Waiting++
	}
	return nil
}

// entry returns the listed memory of a pair, or nil.
func (r *run) entry(s *side, p *pairdb.Pair) *entry { return s.entries[p.ID[s.place]] }

// markSame stores that both memories of a pair are alike.
func (r *run) markSame(ctx context.Context, p *pairdb.Pair) error {
	here, there := r.entry(r.sides[pairdb.Here], p).state(), r.entry(r.sides[pairdb.There], p).state()
	if p.State == [2]string{here, there} && len(p.Pending) == 0 {
		return nil
	}
	p.State, p.Pending, p.Sent = [2]string{here, there}, nil, ""
	return r.save(ctx, p)
}

// changed reports whether a memory was changed since the last copy. A state of an unfinished copy is no change.
func (r *run) changed(p *pairdb.Pair, place pairdb.Place) bool {
	e := r.entry(r.sides[place], p)
	if len(p.Pending) == 0 {
		return !e.hasState(p.State[place])
	}
	if place == p.Writing {
		return !e.hasSum(p.Pending...) && !e.hasState(p.State[place])
	}
	written := r.entry(r.sides[p.Writing], p)
	return written == nil || !written.hasSum(p.Pending[len(p.Pending)-1]) || !e.hasState(p.State[place])
}

// same reports whether the memories of a pair are alike, although both were changed.
func (r *run) same(p *pairdb.Pair, from, to *entry) bool {
	return from.text == to.text && from.review == to.review && r.sameStatus(from, to.status, to.supersededBy, r.to) &&
		(!hasMoved(p.State[r.from.place], from.atlas) && !hasMoved(p.State[r.to.place], to.atlas) ||
			r.corresponds(from.atlas, to.atlas))
}

// corresponds reports whether memories of an atlas on side from are copied to an atlas on side to.
func (r *run) corresponds(from, to loci.ID) bool {
	i := slices.IndexFunc(r.from.atlases, func(a loci.Atlas) bool { return a.ID == from })
	if i < 0 {
		return false
	}
	a, ok := r.to.findAtlas(r.from.atlases[i])
	return ok && a.ID == to
}

// sameStatus reports whether a memory on side to has the status of its original. A superseded memory without a
// replacement cannot be copied as such, so that archived is as good.
func (r *run) sameStatus(from *entry, status loci.MemoryStatus, supersededBy loci.ID, to *side) bool {
	if from.status != loci.MemorySuperseded {
		return status == from.status
	}
	if from.supersededBy == "" {
		return status != loci.MemoryActive
	}
	return status == loci.MemorySuperseded && supersededBy == r.copyOf(from.supersededBy, to)
}

// copyOf returns the id on side to of the copy of a memory, or "".
func (r *run) copyOf(id loci.ID, to *side) loci.ID {
	if p := r.byID[to.place.Other()][id]; p != nil {
		return p.ID[to.place]
	}
	return ""
}

// planGone decides about a pair of which both memories are gone, or one that was never created.
func (r *run) planGone(ctx context.Context, p *pairdb.Pair) error {
	for _, s := range r.sides {
		if m, err := r.current(ctx, s, p); m != nil || err != nil {
			return err
		}
	}
	return r.dropPair(ctx, p)
}

// current reads the memory of a pair. It is nil where there is none.
func (r *run) current(ctx context.Context, s *side, p *pairdb.Pair) (*loci.Memory, error) {
	if p.ID[s.place] == "" {
		return nil, nil
	}
	return s.get(ctx, p.ID[s.place])
}

// planDeleted decides about a pair of which one memory is gone, or was never created.
func (r *run) planDeleted(ctx context.Context, p *pairdb.Pair, gone, kept *side) error {
	if p.ID[gone.place] == "" {
		r.planCreation(p, gone)
		return nil
	}
	if m, err := r.current(ctx, gone, p); m != nil || err != nil { // it was listed too early
		return err
	}
	switch {
	case r.changed(p, kept.place):
		r.planDeletionConflict(p, gone, kept)
	case gone == r.from && r.Delete:
		r.addTask(deleted, kept, p)
	default:
		r.report.Deletions = append(r.report.Deletions, Deletion{r.memory(p), sideName(gone.place)})
	}
	return nil
}

// planCreation decides about a creation that was begun on a side.
func (r *run) planCreation(p *pairdb.Pair, on *side) {
	if on == r.to {
		r.addTask(created, r.to, p)
	} else {
		r.report.Waiting++
	}
}

// planDeletionConflict decides about a pair of which one memory was deleted and the other one changed.
func (r *run) planDeletionConflict(p *pairdb.Pair, gone, kept *side) {
	c := Conflict{Here: "deleted", There: "changed"}
	if gone.place == pairdb.There {
		c = Conflict{Here: "changed", There: "deleted"}
	}
	r.planConflict(p, c, func(winner *side) bool {
		switch {
		case winner == kept:
			r.addTask(created, gone, p)
		case r.Delete:
			r.addTask(deleted, kept, p)
		default:
			return false
		}
		return true
	})
}

// planConflict lists a conflict, unless the winner decides it.
func (r *run) planConflict(p *pairdb.Pair, c Conflict, decide func(winner *side) bool) {
	winner := r.sides[pairdb.There]
	if r.Winner == Mine {
		winner = r.sides[pairdb.Here]
	}
	if r.Winner == "" || !decide(winner) {
		c.Memory = r.memory(p)
		r.report.Conflicts = append(r.report.Conflicts, c)
	}
}

// addTask plans an action on side to. Copies to side r.to are made in the order of the list.
func (r *run) addTask(action string, to *side, p *pairdb.Pair) {
	t := &task{action: action, to: to, pair: p, id: p.ID[to.place.Other()], title: r.memory(p).Title}
	if action == deleted || to != r.to {
		r.others = append(r.others, t)
		return
	}
	r.tasks[t.id] = t
}

// reportPlan adds the planned tasks to the report of a dry run.
func (r *run) reportPlan() {
	for _, t := range r.others {
		r.report.changed(t.action, t.to.place, r.taskMemory(t))
	}
	for _, ref := range slices.Backward(r.from.pages) {
		for _, id := range slices.Backward(ref.ids) {
			if t := r.tasks[id]; t != nil {
				r.report.changed(t.action, t.to.place, r.taskMemory(t))
			}
		}
	}
}

// taskMemory names the memory of a task.
func (r *run) taskMemory(t *task) Memory {
	if t.pair != nil {
		return r.memory(t.pair)
	}
	if t.to.place == pairdb.There {
		return Memory{LocalID: t.id, Title: t.title}
	}
	return Memory{RemoteID: t.id, Title: t.title}
}
