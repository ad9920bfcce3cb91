package replica

import (
	"cmp"
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

// A side is the local database, or a workspace on the server.
type side struct {
	place     pairdb.Place
	caller    op.Caller
	user      loci.ID
	workspace loci.Workspace

	atlases    []loci.Atlas
	atlasNames map[loci.ID]string

	entries map[loci.ID]*entry
	pages   []pageRef // newest first
	newest  loci.Time // createdAt of the newest memory

	tags map[loci.ID]string // the entity tags of memories that were read or changed
}

// A pageRef is a page of the list of memories that can be read again.
type pageRef struct {
	cursor loci.Cursor
	ids    []loci.ID
}

// fullPages begins a list that is read to its end.
var fullPages = loci.Paging{Limit: 100}

// maxRateTries is how often a call is repeated that exceeds the rate limit. The client has waited several times before.
const maxRateTries = 10

// call runs an operation on a side. It waits for the rate limit.
func call[In, Out any](ctx context.Context, s *side, o op.TypedOp[In, Out], in In,
	options ...func(*op.Call)) (out Out, err error) {
	for try := 1; ; try++ {
		c := &op.Call{Transport: "command", RequestID: string(loci.NewID(time.Now()))}
		for _, set := range options {
			set(c)
		}
		out, err = op.Do(ctx, s.caller, c, o, in)
		if err == nil {
			s.keepTag(out, c.ETag)
		}
		if !loci.Is(err, loci.CodeRateLimited) || try == maxRateTries {
			return out, err
		}
		if !contextio.Sleep(ctx, max(time.Second, min(time.Minute, loci.AsError(err).RetryAfter))) {
			return out, ctx.Err()
		}
	}
}

// keepTag keeps the entity tag of the memory in an answer. Only the server knows what it depends on.
func (s *side) keepTag(out any, tag string) {
	if s.tags == nil {
		s.tags = map[loci.ID]string{}
	}
	switch out := out.(type) {
	case loci.OneMemory:
		s.tags[out.Memory.ID] = tag
	case loci.MemoryDetail:
		s.tags[out.ID] = tag
	}
}

// ifMatch makes a call conditional on the state of a memory that the last call read or changed.
func (s *side) ifMatch(m loci.Memory) func(*op.Call) {
	return func(c *op.Call) { c.IfMatch = cmp.Or(s.tags[m.ID], m.EntityTag()) }
}

// withKey makes a call safe to repeat.
func withKey(key string) func(*op.Call) { return func(c *op.Call) { c.IdempotencyKey = key } }

// get reads a memory. A missing one is nil.
func (s *side) get(ctx context.Context, id loci.ID) (*loci.Memory, error) {
	out, err := call(ctx, s, service.MemoryGet, loci.GetMemory{MemoryID: id})
	if loci.Is(err, loci.CodeNotFound) {
		return nil, nil
	}
	return &out.Memory, err
}

// delete deletes a memory. A server with variant b of the contract lacks the operation.
func (s *side) delete(ctx context.Context, m loci.Memory) error {
	_, err := call(ctx, s, service.MemoryDelete, loci.DeleteMemory{MemoryID: m.ID}, s.ifMatch(m))
	if !loci.Is(err, loci.CodeNotFound) {
		return err
	}
	if left, e := s.get(ctx, m.ID); left == nil || e != nil { // another program deleted it, or nobody knows
		return e
	}
	return loci.Errorf(loci.CodeNotFound, "The server does not delete memories: archive this one instead.")
}

// list reads all memories of the workspace. It keeps hashes, and the places of the pages. With sent it also hashes the
// texts for sentHash.
func (s *side) list(ctx context.Context, sent bool) error {
	s.entries = map[loci.ID]*entry{}
	for m, err := range loci.AllItems(fullPages, func(p loci.Paging) ([]loci.Memory, loci.Page, error) {
		found, err := s.page(ctx, p.Cursor)
		s.addPage(p.Cursor, found.Memories)
		return found.Memories, found.Page, err
	}) {
		if err != nil {
			return err
		}
		e := newEntry(m)
		if sent && m.Version == 1 {
			e.sent = sentHash(m.Content, m.Type, m.Tags, m.Source)
		}
		s.entries[m.ID], s.newest = e, max(s.newest, m.CreatedAt)
	}
	return nil
}

// addPage keeps the place of a page of memories.
func (s *side) addPage(cursor loci.Cursor, memories []loci.Memory) {
	ref := pageRef{cursor: cursor}
	for _, m := range memories {
		ref.ids = append(ref.ids, m.ID)
	}
	s.pages = append(s.pages, ref)
}

// page reads one page of memories, newest first.
func (s *side) page(ctx context.Context, cursor loci.Cursor) (loci.Memories, error) {
	return call(ctx, s, service.MemoryList, loci.ListMemories{
		MemoryFilter: loci.MemoryFilter{WorkspaceID: s.workspace.ID,
			Include: []loci.Include{loci.IncludeArchived, loci.IncludeSuperseded}},
		Paging: loci.Paging{Limit: fullPages.Limit, Cursor: cursor}})
}

// firstSent returns the sentHash of the first version of a memory.
func (s *side) firstSent(ctx context.Context, id loci.ID) (string, error) {
	m, err := s.get(ctx, id)
	if m == nil || err != nil {
		return "", err
	}
	var first *loci.MemoryVersion
	for v, err := range loci.AllItems(fullPages, func(p loci.Paging) ([]loci.MemoryVersion, loci.Page, error) {
		found, err := call(ctx, s, service.MemoryVersions, loci.ListVersions{MemoryID: id, Paging: p})
		return found.Versions, found.Page, err
	}) {
		if err != nil {
			return "", err
		}
		first = &v // newest first
	}
	if first == nil {
		return "", nil
	}
	return sentHash(first.Content, first.Type, first.Tags, m.Source), nil
}
