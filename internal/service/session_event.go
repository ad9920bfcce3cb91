package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/pathglob"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// maxDrawn is the most statements that are drawn from an event.
const maxDrawn = 5

// SendEvent stores an event of an automatic session, and what is drawn from it.
func (s *Service) SendEvent(ctx context.Context, actor *identity.Actor, in loci.SendEvent) (loci.ReceivedEvent, error) {
	if err := rejectCredentials("eventId", in.EventID); err != nil {
		return loci.ReceivedEvent{}, err
	}
	if err := rejectCredentials("unitKey", in.UnitKey); err != nil {
		return loci.ReceivedEvent{}, err
	}
	in.Content, in.Metadata = redacted(in.Content), redactedMetadata(in.Metadata)
	drawn, err := s.draw(ctx, actor, in)
	if err != nil {
		return loci.ReceivedEvent{}, err
	}
	return inSession(ctx, s, actor, in.SessionID, store.OwnSession,
		func(tx *store.Tx, x *store.Session) (out loci.ReceivedEvent, err error) {
			var known bool
			if out.Event, known, err = x.Event(string(in.EventID)); err != nil || known {
				return repeatedEvent(x, out, err)
			}
			if err = requireAdapter(x, in.Adapter); err == nil {
				err = x.RequireOpen()
			}
			if err != nil {
				return out, err
			}
			policy, err := x.PolicyOf()
			if err != nil {
				return out, err
			}
			e := newEvent(tx, x, in)
			if !policy.Accepts(in.Adapter) || excludes(policy, in.Metadata) {
				e.CreatedAt, e.UpdatedAt = tx.Now(), tx.Now()
				return loci.ReceivedEvent{Event: e.SessionEvent, Ignored: true}, nil
			}
			if err = limitOf(x.Counts.Events, loci.MaxEvents, "events"); err != nil {
				return out, err
			}
			if out.Event, err = x.AddEvent(e); err != nil {
				return out, err
			}
			err = s.keepDrawn(tx, x, policy.Mode, in, drawn, &out)
			return out, err
		})
}

// newEvent returns the event of an input.
func newEvent(tx *store.Tx, x *store.Session, in loci.SendEvent) sessiondb.Event {
	return sessiondb.Event{Content: string(in.Content), Metadata: in.Metadata,
		SessionEvent: loci.SessionEvent{SessionID: x.ID, EventID: string(in.EventID), Adapter: in.Adapter,
			Type: in.Type, UnitKey: string(in.UnitKey), Role: in.Role, OccurredAt: cmp.Or(in.OccurredAt, tx.Now())}}
}

// repeatedEvent returns the answer to an event that is known.
func repeatedEvent(x *store.Session, out loci.ReceivedEvent, err error) (loci.ReceivedEvent, error) {
	if err == nil {
		out.Duplicate = true
		out.Candidates, err = x.CandidatesFrom(drawnSources(out.Event.EventID))
	}
	out.Candidate = firstCandidate(out.Candidates)
	return out, err
}

func firstCandidate(list []loci.Candidate) *loci.Candidate {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// drawnSources returns the sources of the candidates that are drawn from an event.
func drawnSources(eventID string) []string {
	sources := []string{eventID}
	for n := 2; n <= maxDrawn; n++ {
		sources = append(sources, fmt.Sprintf("%s#%d", eventID, n))
	}
	return sources
}

// redactedMetadata returns metadata with the credentials in its names and texts replaced.
func redactedMetadata(m loci.Metadata) loci.Metadata {
	if m == nil {
		return nil
	}
	out := loci.Metadata{}
	for name, value := range m {
		if text, ok := value.(string); ok {
			out[redacted(name)] = redactedMember(name, text)
			continue
		}
		out[redacted(name)] = redactedValue(value)
	}
	return out
}

// redactedMember returns the text of a member. Its name may be what makes it a credential.
func redactedMember(name, text string) string {
	text = redacted(text)
	assigned := name + "=\"" + text + "\""
	if found := secret.Scan(assigned); len(found) > 0 {
		return "[REDACTED:" + found[0].Rule + "]"
	}
	return text
}

func redactedValue(value any) any {
	switch v := value.(type) {
	case string:
		return redacted(v)
	case map[string]any:
		return map[string]any(redactedMetadata(v))
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = redactedValue(item)
		}
		return out
	}
	return value
}

// excludes reports whether a policy excludes the events of a path.
func excludes(p loci.Policy, m loci.Metadata) bool {
	for _, name := range []string{"path", "cwd"} {
		path, ok := m[name].(string)
		isExcluded := func(pattern string) bool { return pathglob.Match(pattern, path) }
		if ok && slices.ContainsFunc(p.ExcludePaths, isExcluded) {
			return true
		}
	}
	return false
}

// draw returns the statements of an event that are not known yet. It runs before the transaction that stores the event,
// because other writers wait for that one.
func (s *Service) draw(ctx context.Context, actor *identity.Actor, in loci.SendEvent) ([]extract.Statement, error) {
	if in.Type != loci.EventPrompt && in.Type != loci.EventResponse || in.Content == "" {
		return nil, nil
	}
	plain := *actor
	plain.Idempotency = nil
	var turn extract.Turn
	var view *store.SessionView
	policy, err := read(ctx, s, &plain, func(tx *store.Tx) (p loci.Policy, err error) {
		if view, err = tx.SessionView(in.SessionID); err != nil {
			return p, err
		}
		if p, err = view.PolicyOf(); err != nil || !p.Accepts(in.Adapter) {
			return p, err
		}
		turn, err = readTurn(view, in)
		return p, err
	})
	if err != nil || !policy.Accepts(in.Adapter) {
		return nil, err
	}
	turn.SaidOn = cmp.Or(in.OccurredAt, s.Store.Now()).Std()
	list := drawFrom(turn, in.Type, policy.MinLength)
	if len(list) == 0 {
		return nil, nil
	}
	return s.withoutKnown(ctx, &plain, view, list)
}

// readTurn returns the texts of the turn that an event belongs to, without quoted memories.
func readTurn(v *store.SessionView, in loci.SendEvent) (t extract.Turn, err error) {
	text := fence.Strip(string(in.Content))
	if in.Type == loci.EventPrompt {
		t.Prompt = text
		t.Previous, err = v.PreviousAnswer()
	} else {
		t.Response = text
		t.Prompt, t.Previous, err = v.EventTexts(string(in.UnitKey))
		t.Prompt = fence.Strip(t.Prompt)
	}
	t.Previous = fence.Strip(t.Previous)
	return t, err
}

// drawFrom draws from the prompt where it is long enough alone, and otherwise with its answer.
func drawFrom(t extract.Turn, of loci.EventType, minLength int) []extract.Statement {
	prompt := utf8.RuneCountInString(t.Prompt)
	switch {
	case of == loci.EventPrompt && prompt >= minLength:
		return extract.FromPrompt(t)
	case of == loci.EventPrompt || prompt+utf8.RuneCountInString(t.Response) < minLength:
		return nil
	case prompt >= minLength:
		return extract.FromResponse(t)
	}
	list := append(extract.FromPrompt(t), extract.FromResponse(t)...)
	return list[:min(len(list), maxDrawn)]
}

// knownMemories is the number of memories with which a statement is compared.
const knownMemories = 10

// withoutKnown removes the statements that repeat a memory of the atlas or an earlier candidate of the user, lightly
// reworded too.
func (s *Service) withoutKnown(ctx context.Context, actor *identity.Actor, v *store.SessionView,
	list []extract.Statement) ([]extract.Statement, error) {
	texts, err := read(ctx, s, actor, func(tx *store.Tx) ([]string, error) { return tx.KnownCandidates(v) })
	if err != nil {
		return nil, err
	}
	var kept []extract.Statement
	for _, x := range list {
		known := slices.ContainsFunc(texts, extract.Repeater(x.Text))
		if !known {
			known, err = s.repeatsMemory(ctx, actor, v.AtlasID, x.Text)
		}
		if err != nil {
			return nil, err
		}
		if !known {
			kept = append(kept, x)
		}
	}
	return kept, nil
}

// repeatsMemory reports whether a statement repeats an active memory of an atlas.
func (s *Service) repeatsMemory(ctx context.Context, actor *identity.Actor, atlas loci.ID, text string) (bool, error) {
	query := loci.Query(extract.Words(text))
	if query.Empty() {
		return false, nil
	}
	found, _, err := s.retrieve(ctx, actor, query, loci.ModeKeyword, store.Filter{AtlasID: atlas}, nil, "",
		knownMemories)
	for _, hit := range found.Hits {
		if extract.Repeats(text, hit.Memory.Title+"\n"+hit.Memory.Content) {
			return true, nil
		}
	}
	return false, err
}

// keepDrawn stores the drawn statements as candidates, or in the mode units as the memory of their unit.
func (s *Service) keepDrawn(tx *store.Tx, x *store.Session, mode loci.PolicyMode, in loci.SendEvent,
	drawn []extract.Statement, out *loci.ReceivedEvent) (err error) {
	if len(drawn) == 0 {
		return nil
	}
	if mode == loci.ModeUnits {
		return drawIntoUnit(tx, x, in, drawn)
	}
	for i, source := range drawnSources(string(in.EventID))[:len(drawn)] {
		if x.Counts.Candidates >= loci.MaxCandidates {
			break // the event is kept all the same
		}
		taken, err := x.CandidatesFrom([]string{source})
		if err != nil {
			return err
		}
		if len(taken) > 0 {
			out.Candidates = append(out.Candidates, taken...)
			continue // its client captured it itself
		}
		c := newCandidate(loci.CaptureCandidate{Content: loci.CandidateContent(drawn[i].Text), Type: drawn[i].Type,
			SourceEventID: loci.ExternalID(source)})
		c, err = s.addCandidate(x, c, store.NewIndexEntry(c.Title, c.Content), loci.ActionDrawn)
		if err != nil {
			return err
		}
		out.Candidates = append(out.Candidates, c)
	}
	out.Candidate = firstCandidate(out.Candidates)
	return nil
}

// defaultUnit is the key of the unit of events without one.
const defaultUnit = "session"

// compilerName names this service in the records of compilations.
const compilerName = "loci"

// drawIntoUnit adds statements to the memory of their unit, with a record of the compilation. A memory that somebody
// archived or replaced stays as it is.
func drawIntoUnit(tx *store.Tx, x *store.Session, in loci.SendEvent, drawn []extract.Statement) error {
	key := cmp.Or(string(in.UnitKey), defaultUnit)
	u, found, err := x.UnitByKey(key)
	if err != nil || !found && x.Counts.Units >= loci.MaxUnits {
		return err
	}
	m := loci.Memory{Type: drawn[0].Type}
	if u.MemoryID != "" {
		former, err := tx.MemoryRecord(u.MemoryID)
		switch {
		case loci.Is(err, loci.CodeNotFound): // somebody has just deleted it
		case err != nil || former.Status != loci.MemoryActive:
			return err
		default:
			m.Content, m.Title, m.Type = former.Content, former.Title, former.Type
		}
	}
	for _, s := range drawn {
		if m.Content != "" {
			m.Content += "\n"
		}
		m.Content += s.Text
	}
	if len(m.Content) > loci.MaxContent {
		return nil
	}
	m.Title = cmp.Or(m.Title, loci.DeriveTitle(m.Content))
	if !found {
		if u, err = x.AddUnit(key, m.Title); err != nil {
			return err
		}
		u.Status = loci.UnitFinalized
	}
	entry := store.NewIndexEntry(m.Title, m.Content)
	u, outcome, err := storeUnit(tx, x, u, m, entry, string(in.EventID))
	if err != nil {
		return err
	}
	_, err = x.AddCompilation(loci.Compilation{UnitKey: key, Compiler: compilerName, Outcome: outcome,
		MemoryID: u.MemoryID, InputEventIDs: []string{string(in.EventID)}})
	return err
}
