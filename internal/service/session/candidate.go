package session

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
	"github.com/loci-memory/loci/internal/title"
)

// CaptureCandidate stores a candidate, or returns the one with the same source.
func (s *Service) CaptureCandidate(ctx context.Context, actor *identity.Actor, in loci.CaptureCandidate) (
	loci.CapturedCandidate, error) {
	c := newCandidate(in)
	hasSecret := slices.ContainsFunc(append(slices.Clone(c.Tags), c.Title, c.Content, c.Evidence),
		func(text string) bool { return len(secret.Scan(text)) > 0 })
	entry, err := s.newIndexEntry(ctx, actor, c.Title, c.Content)
	if err != nil {
		return loci.CapturedCandidate{}, err
	}
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Own, store.InAnyState,
		func(tx *store.Tx, x *sessiondb.Session) (loci.CapturedCandidate, error) {
			known, err := x.CandidatesFrom([]string{c.SourceEventID})
			if err != nil || len(known) > 0 {
				return existingCandidate(known, err)
			}
			if err := x.Accept(store.ToContinue); err != nil {
				return loci.CapturedCandidate{}, err
			}
			c, entry := c, entry
			if hasSecret {
				if c, err = checkedCandidate(x.Atlas().Secrets(), c); err != nil {
					return loci.CapturedCandidate{}, err
				}
				if entry, err = memorydb.ComputeIndexEntry(tx, c.Title, c.Content); err != nil {
					return loci.CapturedCandidate{}, err
				}
			}
			out, err := s.addCandidate(x, c, entry, loci.ActionCaptured)
			return loci.CapturedCandidate{Candidate: out}, err
		})
}

// newIndexEntry returns the index entry of a text before a transaction, because other writers wait for it.
func (s *Service) newIndexEntry(ctx context.Context, actor *identity.Actor, title, content string) (
	e memorydb.IndexEntry, err error) {
	err = s.Store.Analyze(ctx, actor, func() { e = memorydb.NewIndexEntry(title, content) }, title, content)
	return e, err
}

func existingCandidate(known []loci.Candidate, err error) (loci.CapturedCandidate, error) {
	if err != nil {
		return loci.CapturedCandidate{}, err
	}
	return loci.CapturedCandidate{Candidate: known[0], Creation: loci.Existing}, nil
}

// newCandidate returns the candidate of an input.
func newCandidate(in loci.CaptureCandidate) loci.Candidate {
	m := newMemory(string(in.Title), string(in.Content), in.Type, in.Tags)
	c := loci.Candidate{Content: m.Content, Title: m.Title, TitleDerived: m.TitleDerived, Type: m.Type, Tags: m.Tags,
		Confidence: in.Confidence, SourceEventID: string(in.SourceEventID)}
	if in.Evidence != nil {
		c.Evidence = string(*in.Evidence)
	}
	return c
}

// newMemory returns the memory of fields of an input.
func newMemory(given, content string, kind loci.MemoryType, tags loci.Tags) loci.Memory {
	m := loci.Memory{Title: given, Content: content, Type: cmp.Or(kind, loci.TypeNote), Tags: tags.Unique()}
	title.Ensure(&m)
	return m
}

// checkedCandidate returns a candidate as it may be stored under a policy.
func checkedCandidate(policy loci.SecretsPolicy, c loci.Candidate) (loci.Candidate, error) {
	err := secret.Reject(policy, "tags", c.Tags...)
	for _, x := range []struct {
		field string
		text  *string
	}{{"content", &c.Content}, {"title", &c.Title}, {"evidence", &c.Evidence}} {
		if err == nil {
			*x.text, err = secret.Apply(policy, "", secret.CandidateField+x.field, *x.text)
		}
	}
	if c.TitleDerived { // the former title may have ended within a credential
		c.Title = secret.ApplyToTitle(policy, "", title.Derive(c.Content))
	}
	return c, err
}

// addCandidate stores a candidate with the memories that are similar to it.
func (s *Service) addCandidate(x *sessiondb.Session, c loci.Candidate, e memorydb.IndexEntry,
	action loci.SessionAction) (loci.Candidate, error) {
	if err := limitOf(x.Counts.Candidates, loci.MaxCandidates, "candidates"); err != nil {
		return c, err
	}
	var err error
	if c.Similar, err = similarTo(x, c.Content, e); err != nil {
		return c, err
	}
	return x.AddCandidate(c, action)
}

// similarTo returns the memories that are similar to the content of a candidate, whose entry is e.
func similarTo(x *sessiondb.Session, content string, e memorydb.IndexEntry) ([]loci.SimilarToMemory, error) {
	list := []loci.SimilarToMemory{}
	similar, _, err := memorydb.FindSimilar(x.Atlas(), content, e, "", nil)
	for _, m := range similar {
		list = append(list, loci.SimilarToMemory{MemoryID: m.ID, Score: m.Score})
	}
	return list, err
}

// ListCandidates lists candidates, newest first.
func (s *Service) ListCandidates(ctx context.Context, actor *identity.Actor, in loci.ListCandidates) (
	out loci.Candidates, err error) {
	out.Candidates, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Candidate], error) {
			return sessiondb.ListCandidates(tx, sessiondb.Filter{WorkspaceID: in.WorkspaceID, AtlasID: in.AtlasID,
				SessionID: in.SessionID, Status: sessiondb.Statuses(in.Status), Managed: in.Scope == loci.ScopeManaged,
				Archived: len(in.Include) > 0}, p)
		},
		func(c loci.Candidate) page.Key { return page.Key{At: c.CreatedAt, ID: c.ID} })
	return out, err
}

// newCompiled makes the memory of a candidate.
func newCompiled(x *sessiondb.Session, c loci.Candidate) (*loci.Memory, error) {
	m := memoryOf(x, c)
	entry, err := memorydb.ComputeIndexEntry(x.Atlas(), m.Title, m.Content)
	if err != nil {
		return nil, err
	}
	out, err := memorydb.Create(x.Atlas(), loci.NewMemory{Memory: m}, entry, memorydb.CreatePolicy{})
	return &out.Memory.Memory, err
}

// memoryOf returns the memory that a candidate becomes: one of the session's user, whoever moderates. Credentials that
// the workspace has come to refuse are redacted.
func memoryOf(x *sessiondb.Session, c loci.Candidate) loci.Memory {
	m := loci.Memory{Title: c.Title, TitleDerived: c.TitleDerived, Content: c.Content, Type: c.Type, Tags: c.Tags}
	if x.Atlas().Secrets() != loci.SecretsAllow {
		m = withoutCredentials(m)
	}
	return ofSession(x, m)
}

// withoutCredentials returns a memory without credentials. Tags that hold one are removed.
func withoutCredentials(m loci.Memory) loci.Memory {
	content := secret.Redacted(m.Content)
	if m.TitleDerived && content != m.Content { // it may have ended within a credential
		m.Title = title.Derive(content)
	}
	m.Content, m.Title = content, title.Truncate(secret.Redacted(m.Title)) // a mark may be longer than the credential
	m.Tags = slices.DeleteFunc(slices.Clone(m.Tags), func(tag string) bool { return secret.Redacted(tag) != tag })
	return m
}

// ofSession marks a memory as one of a session.
func ofSession(x *sessiondb.Session, m loci.Memory) loci.Memory {
	m.CreatedBy, m.AgentID, m.SessionID = x.UserID, x.AgentID, x.ID
	title.Ensure(&m)
	return m
}
