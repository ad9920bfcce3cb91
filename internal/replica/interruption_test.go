package replica_test

import (
	"context"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/service"
)

// pushWithFault runs a push with a fault, and reports whether the fault occurred.
func (c *couple) pushWithFault(f *fault) bool {
	o := c.options(there)
	o.Local, o.Remote = faultyCaller{o.Local, f}, faultyCaller{o.Remote, f}
	o.Ledger = func(account loci.ID) replica.Ledger { return faultyLedger{c.ledger(account), f} }
	if _, err := replica.Run(context.Background(), o); err != nil && !f.dead {
		panic(err)
	}
	return f.calls >= f.at
}

// changeEverything changes text, tags and review of a memory, and archives it.
func changeEverything(c *couple, id loci.ID) {
	update(c.callers[here], id, "After.")
	evidence := loci.Evidence("The minutes.")
	must(do(c.callers[here], service.MemoryVerify, loci.VerifyMemory{MemoryID: id, Evidence: &evidence}))
	must(do(c.callers[here], service.MemoryArchive, loci.ArchiveMemory{MemoryID: id}))
}

// TestInterruptedUpdateIsNoConflict kills a push before and after each of its calls. The next push must know its own
// writes from those of others.
func TestInterruptedUpdateIsNoConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for at, occurred := 1, true; occurred; at++ {
		for _, after := range []bool{false, true} {
			c := w.couple()
			m := add(c.callers[here], loci.CreateMemory{Content: "Before."})
			c.run(there)
			changeEverything(c, m.ID)
			occurred = c.pushWithFault(&fault{at: at, after: after})
			if r := c.run(here); !r.OK || len(r.Changes) != 0 {
				t.Errorf("killed at call %d: a pull: %+v", at, r)
			}
			r := c.run(there)
			got := all(c.callers[there])[0]
			if !r.OK || got.Content != "After." || got.Evidence != "The minutes." || got.Status != loci.MemoryArchived {
				t.Errorf("killed at call %d: %+v %+v", at, r, got)
			}
			if r := c.run(there); !r.OK || r.Unchanged != 1 {
				t.Errorf("killed at call %d: %+v", at, r)
			}
		}
	}
}

// TestChangeMeanwhileIsNotOverwritten changes the copy at each call of a push. Without --mine the push must leave it.
func TestChangeMeanwhileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for at, occurred := 1, true; occurred; at++ {
		c := w.couple()
		m := add(c.callers[here], loci.CreateMemory{Content: "Before."})
		c.run(there)
		changeEverything(c, m.ID)
		copied, text, edited := all(c.callers[there])[0], loci.Content("Foreign."), false
		occurred = c.pushWithFault(&fault{at: at, edit: func() {
			_, err := do(c.callers[there], service.MemoryUpdate, loci.UpdateMemory{MemoryID: copied.ID, Content: &text})
			edited = err == nil
		}})
		c.run(there)
		r := c.run(here)
		if got := all(c.callers[there])[0]; edited && got.Content != "Foreign." {
			t.Errorf("changed at call %d: %+v", at, got)
		}
		if got := all(c.callers[here])[0]; edited && len(r.Conflicts) == 0 && got.Content != "Foreign." {
			t.Errorf("changed at call %d, and nobody was told: %+v", at, r)
		}
	}
}
