package replica

import (
	"context"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

// A statusTask archives or supersedes a copy, after all texts were copied.
type statusTask struct {
	*task
	original, copied *entry
	planned, visited bool
}

func newStatusTask(t *task, m loci.Memory, copied *entry) *statusTask {
	return &statusTask{task: t, original: newEntry(m), copied: copied}
}

// copyStatuses supersedes and archives copies. The intentions are saved before.
func (r *run) copyStatuses(ctx context.Context) error {
	for _, s := range r.statuses {
		if s.original.status != loci.MemorySuperseded || r.replacement(s) != "" || s.original.supersededBy == "" {
			s.pair.Pending = []string{s.copied.sum(), s.archived().sum(), r.expected(s).sum()}
			s.planned, r.unsaved[s.pair] = true, true
		}
	}
	if err := r.saveAll(ctx); err != nil {
		return err
	}
	for _, s := range r.inOrder() {
		if err := r.copyStatus(ctx, s); fatal(err) {
			return err
		} else if err != nil {
			r.report.refused(r.memory(s.pair), err)
		}
	}
	return nil
}

// replacement returns the copy of the memory that replaces the original, or "".
func (r *run) replacement(s *statusTask) loci.ID {
	if s.original.supersededBy == "" {
		return ""
	}
	id := r.copyOf(s.original.supersededBy, s.to)
	if s.to.entries[id] == nil {
		return ""
	}
	return id
}

// archived returns the state of the copy once it is archived.
func (s *statusTask) archived() *entry {
	next := *s.copied
	next.status = loci.MemoryArchived
	return &next
}

// expected returns the state of the copy after the call. A superseded memory without a replacement is archived: the API
// does not supersede it.
func (r *run) expected(s *statusTask) *entry {
	next := s.archived()
	if id := r.replacement(s); id != "" && s.original.status == loci.MemorySuperseded {
		next.status, next.supersededBy = loci.MemorySuperseded, id
	}
	return next
}

// inOrder returns the superseded memories, each after those that it replaces, and then the archived ones: a replacement
// must be active.
func (r *run) inOrder() (list []*statusTask) {
	replaced := map[loci.ID][]*statusTask{} // by the id of the original replacement
	for _, s := range r.statuses {
		replaced[s.original.supersededBy] = append(replaced[s.original.supersededBy], s)
	}
	var visit func(s *statusTask)
	visit = func(s *statusTask) {
		if s.visited || s.original.supersededBy == "" {
			return
		}
		s.visited = true
		for _, before := range replaced[s.original.id] {
			visit(before)
		}
		list = append(list, s)
	}
	for _, s := range r.statuses {
		visit(s)
	}
	return slices.AppendSeq(list, func(yield func(*statusTask) bool) {
		for _, s := range r.statuses {
			if !s.visited && !yield(s) {
				return
			}
		}
	})
}

// copyStatus archives or supersedes a copy. The saved state is the expected one: another change meanwhile is found by
// the next run.
func (r *run) copyStatus(ctx context.Context, s *statusTask) (err error) {
	if !s.planned {
		return loci.Errorf(loci.CodeStateConflict, "The memory that replaces it was not copied, so that the copy of "+
			"this one is still active.")
	}
	next := r.expected(s)
	if next.status == loci.MemorySuperseded {
		_, err = call(ctx, s.to, service.MemorySupersede, loci.SupersedeMemory{MemoryID: next.id,
			ReplacementMemoryID: next.supersededBy})
		if loci.Is(err, loci.CodeStateConflict) { // its replacement is not active any more
			next = s.archived()
		}
	}
	if next.status == loci.MemoryArchived {
		_, err = call(ctx, s.to, service.MemoryArchive, loci.ArchiveMemory{MemoryID: next.id})
	}
	if err != nil {
		return err
	}
	s.to.entries[next.id] = next
	s.pair.State[s.to.place], s.pair.Pending = next.state(), nil
	return r.save(ctx, s.pair)
}

// delete deletes the copy of a memory that was deleted. The links of the memories that it replaced go with it, which is
// no change of theirs.
func (r *run) delete(ctx context.Context, t *task) error {
	original, err := r.current(ctx, r.other(t.to), t.pair)
	if err != nil || original != nil {
		return err
	}
	current, err := r.current(ctx, t.to, t.pair)
	if err != nil {
		return err
	}
	if current != nil && newEntry(*current).state() != r.entry(t.to, t.pair).state() {
		return loci.Errorf(loci.CodeVersionConflict,
			"The memory was changed meanwhile, and is kept: run the command again.")
	}
	if current != nil {
		linked := r.unlink(t.to, current.ID)
		if err := r.saveAll(ctx, linked...); err != nil {
			return err
		}
		if err := t.to.delete(ctx, *current); err != nil {
			return err
		}
	}
	return r.dropPair(ctx, t.pair)
}

// unlink removes the links to a memory that will be deleted from the entries of a side. It makes the new states pending
// in the pairs of those that nobody changed, and returns these pairs. The others stay changed.
func (r *run) unlink(s *side, id loci.ID) (list []*pairdb.Pair) {
	for _, e := range s.entries {
		if e.supersededBy != id {
			continue
		}
		p := r.byID[s.place][e.id]
		unchanged := p != nil && !r.changed(p, s.place)
		e.supersededBy = ""
		if unchanged && (len(p.Pending) == 0 || p.Writing == s.place) {
			if len(p.Pending) == 0 {
				p.Writing = s.place
			}
			p.Pending = append(p.Pending, e.sum())
			list = append(list, p)
		}
	}
	return list
}
