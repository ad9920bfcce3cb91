package relevance

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
	"github.com/loci-memory/loci/internal/contextio"
)

// Progress receives the number of finished steps. It may be called by several goroutines at once.
type Progress func(done, total int)

// A LoadedDataset is a dataset whose documents are memories of a server.
type LoadedDataset struct {
	Dataset
	Duration time.Duration // from the first memory to the last vector

	FailedEmbeddings int64 // chunks that got no vector

	targets   map[string]target      // by group
	documents map[string]documentKey // by the ids of memories
}

// A target holds the documents of a group: a workspace for each group, or an atlas of a shared workspace.
type target struct{ workspace, atlas string }

// Load makes a workspace for each group of the dataset and a memory for each document. A number of workers makes
// concurrent requests. It returns when the embedding queue is empty. Credentials in the texts are redacted, not
// refused.
func Load(ctx context.Context, c *client.Client, s Dataset, workers int, progress Progress) (*LoadedDataset, error) {
	l := newLoadedDataset(s)
	for i, g := range l.groups() {
		made, err := c.WorkspaceCreate(ctx, loci.CreateWorkspace{Name: loci.Name(fmt.Sprintf("Group %d", i+1))})
		if err != nil {
			return nil, err
		}
		l.targets[g] = target{workspace: string(made.Workspace.ID)}
	}
	return l, l.createMemories(ctx, c, workers, progress)
}

// LoadTogether loads several datasets into one workspace, in which each group of a dataset has an atlas.
func LoadTogether(ctx context.Context, c *client.Client, sets []Dataset, workers int,
	progress Progress) (list []*LoadedDataset, err error) {
	shared, err := c.WorkspaceCreate(ctx, loci.CreateWorkspace{Name: "Together"})
	if err != nil {
		return nil, err
	}
	for _, s := range sets {
		l := newLoadedDataset(s)
		for i, g := range l.groups() {
			name := fmt.Sprintf("Set %d, group %d", len(list)+1, i+1)
			made, err := c.AtlasCreate(ctx, loci.CreateAtlas{Name: loci.Name(name),
				WorkspaceID: shared.Workspace.ID})
			if err != nil {
				return nil, err
			}
			l.targets[g] = target{string(shared.Workspace.ID), string(made.Atlas.ID)}
		}
		if err := l.createMemories(ctx, c, workers, progress); err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

func newLoadedDataset(s Dataset) *LoadedDataset {
	return &LoadedDataset{Dataset: s, targets: map[string]target{}, documents: map[string]documentKey{}}
}

// groups lists the groups of the documents in their order.
func (l *LoadedDataset) groups() (list []string) {
	known := map[string]bool{}
	for _, d := range l.Documents {
		if !known[d.Group] {
			known[d.Group] = true
			list = append(list, d.Group)
		}
	}
	return list
}

// createMemories creates the memories in the targets of their groups.
func (l *LoadedDataset) createMemories(ctx context.Context, c *client.Client, workers int, progress Progress) error {
	ids := make([]string, len(l.Documents))
	began := time.Now()
	err := forEach(ctx, len(ids), workers, progress, func(ctx context.Context, i int) error {
		d := l.Documents[i]
		made, err := c.MemoryCreate(ctx, l.createInput(d))
		if err != nil {
			return withContext(fmt.Sprintf("the document %q", d.ID), err)
		}
		ids[i] = string(made.Memory.ID)
		return nil
	})
	if err != nil {
		return err
	}
	for i, id := range ids {
		l.documents[id] = documentKey{l.Documents[i].Group, l.Documents[i].ID}
	}
	err = l.waitForEmbeddings(ctx, c, progress)
	l.Duration = time.Since(began)
	return err
}

func (l *LoadedDataset) createInput(d Document) loci.CreateMemory {
	at := l.targets[d.Group]
	return loci.CreateMemory{WorkspaceID: loci.ID(at.workspace), AtlasID: loci.ID(at.atlas), Title: loci.Title(d.Title),
		Content: loci.Content(d.Text),
		Source:  d.source(), Secrets: loci.OnSecretRedact}
}

// partID is the id of a part of a conversation or a document: D3:14.
var partID = regexp.MustCompile(`^([^\s/]+):([0-9]{1,9})$`)

// source returns the group and the position of a part, or nil for a document without them.
func (d Document) source() *loci.Source {
	m := partID.FindStringSubmatch(d.ID)
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

// stallTimeout bounds the wait for a vector while none arrives.
const stallTimeout = 2 * time.Minute

// waitForEmbeddings returns when no memory waits for its vector.
func (l *LoadedDataset) waitForEmbeddings(ctx context.Context, c *client.Client, progress Progress) error {
	maximum, minimum, since := int64(0), int64(-1), time.Now()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		status, err := c.AccountStatus(ctx)
		if err != nil {
			return err
		}
		l.FailedEmbeddings = status.Indexing.Failed
		left := status.Indexing.Pending
		if left == 0 {
			return nil
		}
		if maximum = max(maximum, left); minimum < 0 || left < minimum {
			minimum, since = left, time.Now()
		}
		if time.Since(since) > stallTimeout {
			return fmt.Errorf("%d chunks still have no vector, and none has arrived for %v", left, stallTimeout)
		}
		progress(int(maximum-left), int(maximum))
		if !contextio.Sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// withContext prefixes an error with its subject.
func withContext(what string, err error) error {
	e := loci.AsError(err)
	return &loci.Error{Code: e.Code, Message: what + ": " + e.Message, Err: err}
}

// forEach calls f with the numbers below n, several at once, and stops at the first error.
func forEach(ctx context.Context, n, workers int, progress Progress, f func(ctx context.Context, i int) error) error {
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
				progress(int(done.Add(1)), n)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
