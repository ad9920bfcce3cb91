package replica_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/pairdb"
	"github.com/loci-memory/loci/internal/testenv"
)

// A memory that was superseded since the last copy loses its replacement by a deletion that is copied. Its change is
// still copied afterwards.
func TestDeletionOfReplacementKeepsTheChangeOfTheReplacedMemory(t *testing.T) {
	t.Parallel()
	c := newWorld(t).couple()
	old, replacement := add(c.callers[0], loci.CreateMemory{Content: "old"}), add(c.callers[0],
		loci.CreateMemory{Content: "new"})
	c.run(pairdb.There)
	copies := map[string]loci.ID{}
	for _, m := range all(c.callers[1]) {
		copies[m.Content] = m.ID
	}
	must(do(c.callers[0], service.MemorySupersede, loci.SupersedeMemory{MemoryID: old.ID,
		ReplacementMemoryID: replacement.ID}))
	must(do(c.callers[1], service.MemoryDelete, loci.DeleteMemory{MemoryID: copies["new"]}))
	c.run(pairdb.Here, func(o *replica.Options) { o.Delete = true })
	testenv.RequireEqual(t, len(all(c.callers[0])), 1, "memories are left")
	c.run(pairdb.There)
	if m := all(c.callers[1])[0]; m.Status != loci.MemoryArchived {
		t.Errorf("the copy is %s", m.Status)
	}
}

// Files change the entity tag of a memory, and are not copied.
func TestChangesOfMemoriesWithFilesAreCopied(t *testing.T) {
	t.Parallel()
	c := newWorld(t).couple()
	m := add(c.callers[0], loci.CreateMemory{Content: "one"})
	c.run(pairdb.There)
	for _, caller := range c.callers {
		id := all(caller)[0].ID
		a := must(do(caller, service.AttachmentUpload, loci.UploadAttachment{MemoryID: id, FileName: "a", Size: 1,
			MIMEType: "text/plain"})).Attachment
		testenv.NoError(t, c.w.svc.StoreUpload(t.Context(), blob.Address{ID: a.ID, Size: 1}, strings.NewReader("x")))
		must(do(caller, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: a.ID}))
	}
	content := loci.Content("two")
	must(do(c.callers[0], service.MemoryUpdate, loci.UpdateMemory{MemoryID: m.ID, Content: &content}))
	must(do(c.callers[0], service.MemoryArchive, loci.ArchiveMemory{MemoryID: m.ID}))
	testenv.Equal(t, counts(c.run(pairdb.There)), "updated 1")
	if got := all(c.callers[1])[0]; got.Content != "two" || got.Status != loci.MemoryArchived {
		t.Errorf("the copy is %+v", got)
	}
	must(do(c.callers[0], service.MemoryRestore, loci.RestoreMemory{MemoryID: m.ID}))
	if r := c.run(pairdb.There); !r.OK || all(c.callers[1])[0].Status != loci.MemoryActive {
		t.Errorf("%+v", r)
	}
}

func TestDerivedTitleStaysDerivedOnTheOtherSide(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	m := add(c.callers[here], loci.CreateMemory{Content: "# One\ntext"})
	check := func(from pairdb.Place, title string, derived bool) {
		t.Helper()
		if r := c.run(from.Other()); !r.OK || r.Created+r.Updated != 1 {
			t.Errorf("%s: %+v", title, r)
		}
		for place, caller := range c.callers {
			if got := all(caller)[0]; got.Title != title || got.TitleDerived != derived {
				t.Errorf("on side %d, the title is %q, derived: %t; want %q, %t", place, got.Title, got.TitleDerived,
					title, derived)
			}
		}
		for _, to := range []pairdb.Place{here, there} {
			testenv.Equal(t, counts(c.run(to)), "unchanged 1")
		}
	}
	change := func(place pairdb.Place, content, title string) {
		in := loci.UpdateMemory{MemoryID: all(c.callers[place])[0].ID}
		if text := loci.Content(content); content != "" {
			in.Content = &text
		} else {
			given := loci.OptionalTitle(title)
			in.Title = &given
		}
		must(do(c.callers[place], service.MemoryUpdate, in))
	}
	if !m.TitleDerived {
		t.Errorf("%+v", m)
	}
	check(here, "One", true)
	change(there, "# Two\ntext", "")
	check(there, "Two", true)
	change(here, "", "Two")
	check(here, "Two", false)
	change(there, "# Three", "")
	check(there, "Two", false)
	change(here, "", "")
	check(here, "Three", true)
}

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
			testenv.Equal(t, counts(c.run(there)), "unchanged 1", "killed at call", at)
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

// An endlessCaller is a server with a list that does not end. It repeats the first page, and none of its memories with
// empty set.
type endlessCaller struct {
	op.Caller
	list   string                // the name of the operation
	cursor func(read int) string // the cursor after a number of pages
	empty  bool
	read   int
	first  map[string]json.RawMessage
}

func (c *endlessCaller) Call(ctx context.Context, o *op.Op, call *op.Call, a op.Args) ([]byte, error) {
	if o.Name != c.list {
		return c.Caller.Call(ctx, o, call, a)
	}
	if c.first == nil {
		raw, err := c.Caller.Call(ctx, o, call, a)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &c.first); err != nil {
			return nil, err
		}
	}
	c.read++
	c.first["nextCursor"] = must(json.Marshal(c.cursor(c.read)))
	for name, value := range c.first {
		if c.empty && value[0] == '[' {
			c.first[name] = json.RawMessage("[]")
		}
	}
	return json.Marshal(c.first)
}

// interruptedCouple returns a couple in which a push was interrupted before it saved the id of a copy, which was
// changed then.
func interruptedCouple(w *world) *couple {
	c := w.couple()
	m := add(c.callers[here], loci.CreateMemory{Content: "Here."})
	copied := add(c.callers[there], loci.CreateMemory{Content: "There."})
	update(c.callers[there], copied.ID, "Changed there.")
	p := &pairdb.Pair{Workspace: copied.WorkspaceID, Sent: "the hash of a text"}
	p.ID[here] = m.ID
	if err := c.ledger(c.remote.ID).Save(context.Background(), p); err != nil {
		panic(err)
	}
	return c
}

func TestListWithoutEndEndsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	servers := map[string]endlessCaller{
		"the same cursor": {cursor: func(int) string { return "c" }},
		"a cycle":         {cursor: func(read int) string { return strconv.Itoa(read % 3) }},
		"empty pages":     {cursor: strconv.Itoa, empty: true},
	}
	lists := []*op.Op{service.WorkspaceList.Op, service.AtlasList.Op, service.MemoryList.Op, service.MemoryVersions.Op}
	for name, server := range servers {
		for _, list := range lists {
			for _, to := range []pairdb.Place{here, there} {
				c, remote := interruptedCouple(w), server
				remote.Caller, remote.list = c.callers[there], list.Name
				before := [2][]string{contents(all(c.callers[here])), contents(all(c.callers[there]))}
				r, err := replica.Run(t.Context(), c.options(to, func(o *replica.Options) { o.Remote = &remote }))
				if !loci.Is(err, loci.CodeUnavailable) || !strings.Contains(err.Error(), "list does not end") || r.OK ||
					remote.read < 2 || remote.read > 101 {
					t.Errorf("%s of %s: %v after %d pages", name, list.Name, err, remote.read)
				}
				for place, texts := range before {
					testenv.EqualSlices(t, contents(all(c.callers[place])), texts, name, list.Name, place)
				}
			}
		}
	}
}
