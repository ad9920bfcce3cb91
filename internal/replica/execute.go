package replica

import (
	"context"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

// execute does what was planned: deletions first, because they free storage; then texts and reviews; then the states,
// because they refuse further changes.
func (r *run) execute(ctx context.Context) error {
	if err := r.confirm(ctx); err != nil {
		return err
	}
	for _, t := range r.others {
		if t.action == deleted {
			if err := r.finish(ctx, t, r.delete(ctx, t)); err != nil {
				return err
			}
		}
	}
	for _, t := range r.others {
		if t.action != deleted {
			if err := r.copyOne(ctx, t); err != nil {
				return err
			}
		}
	}
	if err := r.copyPages(ctx); err != nil {
		return err
	}
	return r.copyStatuses(ctx)
}

// confirm asks before deletions.
func (r *run) confirm(ctx context.Context) error {
	deletions := 0
	for _, t := range r.others {
		if t.action == deleted {
			deletions++
		}
	}
	if r.Confirm == nil || deletions == 0 {
		return nil
	}
	return r.Confirm(ctx, deletions)
}

// finish reports the result of a task. The result is an error that ends the run.
func (r *run) finish(ctx context.Context, t *task, err error) error {
	if fatal(err) {
		return err
	}
	t.done = true
	r.done++
	if r.Progress != nil {
		r.Progress(r.done, len(r.tasks)+len(r.others))
	}
	if err == nil {
		r.report.changed(t.action, t.to.place, r.taskMemory(t))
		return nil
	}
	r.report.refused(r.taskMemory(t), err)
	p := t.pair
	if t.action != created || p == nil || p.ID[t.to.place] != "" || loci.Is(err, loci.CodeInternalError) {
		return nil
	}
	if t.before.ID[t.to.place] == "" {
		return r.dropPair(ctx, p) // nothing was created
	}
	*p = t.before // of a memory that was deleted on that side
	return r.save(ctx, p)
}

// copyPages copies the memories of the tasks, oldest first. It reads the pages of the list again, so that it holds the
// texts of one page.
func (r *run) copyPages(ctx context.Context) error {
	for _, ref := range slices.Backward(r.from.pages) {
		if !slices.ContainsFunc(ref.ids, func(id loci.ID) bool { return r.tasks[id] != nil && !r.tasks[id].done }) {
			continue
		}
		found, err := r.from.page(ctx, ref.cursor)
		if err != nil {
			return err
		}
		slices.Reverse(found.Memories)
		if err := r.copyAll(ctx, found.Memories); err != nil {
			return err
		}
	}
	for _, t := range r.tasks { // deletions may have moved some to other pages
		if !t.done {
			if err := r.copyOne(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyOne reads and copies the memory of a task.
func (r *run) copyOne(ctx context.Context, t *task) error {
	m, err := r.other(t.to).get(ctx, t.id)
	switch {
	case err != nil:
		return r.finish(ctx, t, err)
	case m == nil: // it was deleted meanwhile: the next run tells
		t.done = true
		return nil
	}
	return r.copyTasks(ctx, []*task{t}, []loci.Memory{*m})
}

// copyAll copies those of the memories that have a task.
func (r *run) copyAll(ctx context.Context, memories []loci.Memory) error {
	var tasks []*task
	var texts []loci.Memory
	for _, m := range memories {
		if t := r.tasks[m.ID]; t != nil && !t.done {
			tasks, texts = append(tasks, t), append(texts, m)
		}
	}
	return r.copyTasks(ctx, tasks, texts)
}

// copyTasks copies memories. The intentions of all creations are saved before.
func (r *run) copyTasks(ctx context.Context, tasks []*task, memories []loci.Memory) error {
	var intended []*pairdb.Pair
	for i, t := range tasks {
		if t.action == created {
			intended = append(intended, r.intend(t, memories[i]))
		}
	}
	if err := r.saveAll(ctx, intended...); err != nil {
		return err
	}
	for i, t := range tasks {
		act := r.update
		if t.action == created {
			act = r.create
		}
		if err := r.finish(ctx, t, act(ctx, t, memories[i])); err != nil {
			return err
		}
	}
	return nil
}

// intend returns the pair of a memory that will be created.
func (r *run) intend(t *task, m loci.Memory) *pairdb.Pair {
	p, to := t.pair, t.to
	if p == nil {
		p = &pairdb.Pair{Workspace: r.sides[pairdb.There].workspace.ID}
		p.ID[to.place.Other()] = m.ID
		t.pair = p
		r.addPair(p)
	} else {
		t.before = *p
	}
	if p.ID[to.place] != "" || p.Sent == "" { // else an earlier run may have created it after that time
		p.SentAfter = to.newest
	}
	delete(r.byID[to.place], p.ID[to.place])
	p.ID[to.place], p.State[to.place] = "", ""
	p.Sent = sentHash(m.Content, m.Type, m.Tags, m.Source)
	first := loci.Memory{Title: m.Title, TitleDerived: m.TitleDerived, Content: m.Content, Type: m.Type, Tags: m.Tags,
		Status: loci.MemoryActive}
	r.begin(p, t.to, m, first, "")
	return p
}

// begin sets the states through which the copy of a memory to a pair leads.
func (r *run) begin(p *pairdb.Pair, to *side, m, current loci.Memory, place loci.ID) {
	p.Writing, p.State[to.place.Other()] = to.place, newEntry(m).state()
	p.Pending = []string{sumOf(current)}
	last := current
	for _, s := range r.steps(m, current, to, place) {
		last = s.after
		p.Pending = append(p.Pending, sumOf(last))
	}
	if !r.sameStatus(newEntry(m), last.Status, last.SupersededBy, to) {
		p.Pending = append(p.Pending, unreached)
	}
}

// unreached is a state that no memory has: the last one of a copy whose end is not known yet.
const unreached = "-"

// create creates the copy of a memory.
func (r *run) create(ctx context.Context, t *task, m loci.Memory) error {
	if err := r.quota.refusal(); err != nil {
		return err
	}
	in := loci.CreateMemory{Content: loci.Content(m.Content), Title: loci.Title(givenTitle(m)), Type: m.Type,
		Source: m.Source, WorkspaceID: t.to.workspace.ID}
	for _, tag := range m.Tags {
		in.Tags = append(in.Tags, loci.Tag(tag))
	}
	var err error
	if in.AtlasID, err = r.targetAtlas(ctx, t.to, m.AtlasID); err != nil {
		return err
	}
	out, err := call(ctx, t.to, service.MemoryCreate, in, withKey("loci-copy-"+string(m.ID)+"-"+hash(toJSON(in))))
	if r.quota.observe(err); err != nil {
		return err
	}
	p, copied := t.pair, out.Memory.Memory
	p.ID[t.to.place], p.Sent = copied.ID, ""
	r.indexPair(p)
	return r.advance(ctx, t, m, copied, "")
}

// update changes the copy of a memory.
func (r *run) update(ctx context.Context, t *task, m loci.Memory) error {
	p, listed := t.pair, r.entry(t.to, t.pair)
	current, err := r.current(ctx, t.to, p)
	if err != nil {
		return err
	}
	if current == nil || newEntry(*current).state() != listed.state() {
		return loci.Errorf(loci.CodeVersionConflict,
			"The memory was changed on both sides meanwhile: run the command again.")
	}
	place, err := r.place(ctx, p, t.to, m, *current)
	if err != nil {
		return err
	}
	r.begin(p, t.to, m, *current, place)
	if err := r.ledger.Save(context.WithoutCancel(ctx), p); err != nil {
		return err
	}
	return r.advance(ctx, t, m, *current, place)
}

// place returns the atlas to which a copy moves with its original, also after an interrupted run. It is empty if nobody
// moved one of them.
func (r *run) place(ctx context.Context, p *pairdb.Pair, to *side, m, current loci.Memory) (loci.ID, error) {
	isOther := func(stored string) bool { return hasMoved(stored, current.AtlasID) }
	if !hasMoved(p.State[to.place.Other()], m.AtlasID) && !isOther(p.State[to.place]) &&
		(p.Writing != to.place || !slices.ContainsFunc(p.Pending, isOther)) {
		return "", nil
	}
	id, err := r.targetAtlas(ctx, to, m.AtlasID)
	if err == nil && id == "" {
		err = loci.Errorf(loci.CodeStateConflict, "The memory was moved to the Inbox, and %q has none yet: create a "+
			"memory without an atlas there, then run the command again.", to.workspace.Name)
	}
	return id, err
}

// advance makes the steps from the current state of a copy, up to its status.
func (r *run) advance(ctx context.Context, t *task, m, current loci.Memory, place loci.ID) (err error) {
	p := t.pair
	for _, s := range r.steps(m, current, t.to, place) {
		var next loci.Memory
		if next, err = s.do(ctx, t.to, current); err != nil {
			break
		}
		current = next
	}
	e := newEntry(current)
	t.to.entries[e.id], p.State[t.to.place] = e, e.state()
	if err == nil && r.sameStatus(newEntry(m), e.status, e.supersededBy, t.to) {
		p.Pending = nil
	} else if err == nil {
		r.statuses = append(r.statuses, newStatusTask(t, m, e))
	}
	if e := r.save(ctx, p); err == nil {
		err = e
	}
	return err
}
