package retrieval

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
)

// Progress is told how much of a work is done. It may be called by several
// goroutines at once.
type Progress func(done, total int)

// A Loaded set is one whose documents are the memories of a server.
type Loaded struct {
	Set
	Took time.Duration // from the first memory to the last one's vector

	Failed int64 // passages that got no vector

	places    map[string]place // by group
	documents map[string]key   // by the ids of memories
}

// A place is where the documents of a group are: a workspace of their own, or an atlas
// of one that all share.
type place struct{ workspace, atlas string }

// Load makes a workspace for each group of the set and a memory for each
// document, with some clients at once, and returns when nothing waits for its
// vector any more. Credentials in the texts are redacted, not refused.
func Load(ctx context.Context, c *client.Client, s Set, clients int, tell Progress) (*Loaded, error) {
	l := newLoaded(s)
	for i, g := range l.groups() {
		made, err := c.WorkspaceCreate(ctx, loci.CreateWorkspace{Name: loci.Name(fmt.Sprintf("Group %d", i+1))})
		if err != nil {
			return nil, err
		}
		l.places[g] = place{workspace: made.Workspace.ID}
	}
	return l, l.fill(ctx, c, clients, tell)
}

// LoadTogether is Load of several sets into one workspace, in which each group of a
// set has an atlas.
func LoadTogether(ctx context.Context, c *client.Client, sets []Set, clients int, tell Progress) (list []*Loaded, err error) {
	shared, err := c.WorkspaceCreate(ctx, loci.CreateWorkspace{Name: "Together"})
	if err != nil {
		return nil, err
	}
	for _, s := range sets {
		l := newLoaded(s)
		for i, g := range l.groups() {
			name := fmt.Sprintf("Set %d, group %d", len(list)+1, i+1)
			made, err := c.AtlasCreate(ctx, loci.CreateAtlas{Name: loci.Name(name), WorkspaceID: shared.Workspace.ID})
			if err != nil {
				return nil, err
			}
			l.places[g] = place{shared.Workspace.ID, made.Atlas.ID}
		}
		if err := l.fill(ctx, c, clients, tell); err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

func newLoaded(s Set) *Loaded {
	return &Loaded{Set: s, places: map[string]place{}, documents: map[string]key{}}
}

// groups lists the groups of the set's documents in their order.
func (l *Loaded) groups() (list []string) {
	known := map[string]bool{}
	for _, d := range l.Documents {
		if !known[d.Group] {
			known[d.Group] = true
			list = append(list, d.Group)
		}
	}
	return list
}

// fill makes the memories, in the places of their groups.
func (l *Loaded) fill(ctx context.Context, c *client.Client, clients int, tell Progress) error {
	ids := make([]string, len(l.Documents))
	began := time.Now()
	err := each(ctx, len(ids), clients, tell, func(ctx context.Context, i int) error {
		d := l.Documents[i]
		made, err := c.MemoryCreate(ctx, l.memory(d))
		if err != nil {
			return about(fmt.Sprintf("the text %q", d.ID), err)
		}
		ids[i] = made.Memory.ID
		return nil
	})
	if err != nil {
		return err
	}
	for i, id := range ids {
		l.documents[id] = key{l.Documents[i].Group, l.Documents[i].ID}
	}
	err = l.await(ctx, c, tell)
	l.Took = time.Since(began)
	return err
}

func (l *Loaded) memory(d Document) loci.CreateMemory {
	at := l.places[d.Group]
	return loci.CreateMemory{WorkspaceID: at.workspace, AtlasID: at.atlas, Title: loci.Title(d.Title), Content: loci.Content(d.Text),
		Source: d.source(), Secrets: loci.OnSecretRedact}
}

// part is the id of a part of a conversation or a document: D3:14.
var part = regexp.MustCompile(`^([^\s/]+):([0-9]{1,9})$`)

// source tells where a part stands; nil for a document that is none.
func (d Document) source() *loci.Source {
	m := part.FindStringSubmatch(d.ID)
	if m == nil {
		return nil
	}
	position, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return nil
	}
	group := m[1]
	if d.Group != "" {
		group = d.Group + "/" + group
	}
	return &loci.Source{Group: loci.SourceText(group), Position: &position}
}

// patience is how long one waits for a vector while none comes.
const patience = 2 * time.Minute

// await returns once no memory waits for its vector.
func (l *Loaded) await(ctx context.Context, c *client.Client, tell Progress) error {
	most, least, since := int64(0), int64(-1), time.Now()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		status, err := c.AccountStatus(ctx)
		if err != nil {
			return err
		}
		l.Failed = status.Indexing.Failed
		left := status.Indexing.Pending
		if left == 0 {
			return nil
		}
		if most = max(most, left); least < 0 || left < least {
			least, since = left, time.Now()
		}
		if time.Since(since) > patience {
			return fmt.Errorf("%d passages wait for their vector, and none came for %v", left, patience)
		}
		tell(int(most-left), int(most))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// about says what an error is about.
func about(what string, err error) error {
	e := loci.AsError(err)
	return &loci.Error{Code: e.Code, Message: what + ": " + e.Message, Err: err}
}

// each calls f with the numbers below n, some at once, and ends at the first error.
func each(ctx context.Context, n, workers int, tell Progress, f func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, done atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := f(ctx, i); err != nil {
					stop(err)
					return
				}
				tell(int(done.Add(1)), n)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
