package replica_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

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
					if got := contents(all(c.callers[place])); !slices.Equal(got, texts) {
						t.Errorf("%s of %s: side %d has %q", name, list.Name, place, got)
					}
				}
			}
		}
	}
}
