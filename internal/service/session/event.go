package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
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

// SendEvent stores an event of an automatic session, and what is extracted from it.
func (s *Service) SendEvent(ctx context.Context, actor *identity.Actor, in loci.SendEvent) (loci.ReceivedEvent, error) {
	redacted := secret.Counter{}
	in.Content = loci.EventContent(redacted.Redact(string(in.Content)))
	in.Metadata = redactMetadata(redacted, in.Metadata)
	byModel := s.extracts(in)
	title := promptTitle(in)
	statements, length, err := s.newStatements(ctx, actor, in)
	if err != nil {
		return loci.ReceivedEvent{}, err
	}
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Own, store.InAnyState,
		func(tx *store.Tx, x *sessiondb.Session) (out loci.ReceivedEvent, err error) {
			var known bool
			if out.Event, known, err = x.Event(string(in.EventID)); err != nil || known {
				return repeatedEvent(x, out, err)
			}
			if err = requireAdapter(x, in.Adapter); err == nil {
				err = x.Accept(store.ToChange)
			}
			if err != nil {
				return out, err
			}
			policy, err := x.Policy()
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
			if x.Title == "" {
				x.Title = title
			}
			if err = beginEvent(x, in.Type); err != nil {
				return out, err
			}
			if out.Event, err = x.AddEvent(e); err == nil && len(redacted) > 0 {
				err = x.AddOwnAudit(out.Event, redacted.Counts())
			}
			if err != nil {
				return out, err
			}
			sources := candidateSources(out.Event.EventID)[:extract.MaxStatements]
			out.Candidates, err = s.keepStatements(tx, x, policy.Mode, eventStatements{out.Event, compilerName,
				sources, statements})
			out.Candidate = firstCandidate(out.Candidates)
			if err == nil && byModel && length >= policy.MinLength {
				err = tx.AddJob(extractEvent, out.Event.ID)
			}
			if err == nil && in.Type == loci.EventSessionEnd {
				err = endSession(x)
			}
			return out, err
		})
}

// maxSessionTitle is the most characters of the title of an automatic session.
const maxSessionTitle = 120

// promptTitle returns the title of a session with a redacted prompt, shortened to one line, or "" for another event.
func promptTitle(in loci.SendEvent) string {
	if in.Type != loci.EventPrompt {
		return ""
	}
	text := fence.Strip(string(in.Content))
	line := []rune(oneLine(strings.ToValidUTF8(text[:min(len(text), 32*maxSessionTitle)], "")))
	if len(line) > maxSessionTitle {
		line = append(line[:maxSessionTitle-1], '…')
	}
	return string(line)
}

// beginEvent reopens an ended session for an event that goes on with it.
func beginEvent(x *sessiondb.Session, of loci.EventType) error {
	if of == loci.EventSessionEnd {
		return nil
	}
	x.Ends = false
	if x.Status == loci.SessionActive {
		return nil
	}
	change, err := x.Move(loci.ActionReopened)
	if err != nil {
		return err
	}
	return x.Apply(change)
}

// endSession completes a session, or marks it to be completed with its last open unit.
func endSession(x *sessiondb.Session) error {
	if x.Status != loci.SessionActive {
		return nil
	}
	open, err := x.OpenUnit()
	if err != nil {
		return err
	}
	if open != "" {
		x.Ends = true
		return x.Save()
	}
	change, err := x.Move(loci.ActionCompleted)
	if err != nil {
		return err
	}
	return x.Apply(change)
}

// newEvent returns the event of an input.
func newEvent(tx *store.Tx, x *sessiondb.Session, in loci.SendEvent) sessiondb.Event {
	return sessiondb.Event{Content: string(in.Content), Metadata: in.Metadata,
		SessionEvent: loci.SessionEvent{SessionID: x.ID, EventID: string(in.EventID), Adapter: in.Adapter,
			Type: in.Type, UnitKey: string(in.UnitKey), Role: in.Role, OccurredAt: cmp.Or(in.OccurredAt, tx.Now())}}
}

// repeatedEvent returns the answer to an event that is known.
func repeatedEvent(x *sessiondb.Session, out loci.ReceivedEvent, err error) (loci.ReceivedEvent, error) {
	if err == nil {
		out.Duplicate = true
		out.Candidates, err = x.CandidatesFrom(candidateSources(out.Event.EventID))
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

// candidateSources returns the sources of the candidates that are extracted from an event: the first are extracted by
// rules, and the others by the language model.
func candidateSources(eventID string) []string {
	sources := []string{eventID}
	for n := 2; n <= 2*extract.MaxStatements; n++ {
		sources = append(sources, fmt.Sprintf("%s#%d", eventID, n))
	}
	return sources
}

// redactMetadata returns metadata with the credentials in its names and texts replaced.
func redactMetadata(r secret.Counter, m loci.Metadata) loci.Metadata {
	if m == nil {
		return nil
	}
	out := loci.Metadata{}
	for name, value := range m {
		out[r.Redact(name)] = redactValue(r, name, value)
	}
	return out
}

// redactValue returns the value of a member. The name of the member, or of the object around it, may be what makes a
// text a credential.
func redactValue(r secret.Counter, name string, value any) any {
	switch v := value.(type) {
	case string:
		text := r.Redact(v)
		if found := secret.Scan(name + "=\"" + text + "\""); len(found) > 0 {
			r[found[0].Rule]++
			return "[REDACTED:" + found[0].Rule + "]"
		}
		return text
	case map[string]any:
		out := map[string]any{}
		for inner, x := range v {
			key := inner
			if inner == "value" { // of an object that names it: {"password": {"value": ...}}
				key = name
			}
			out[r.Redact(inner)] = redactValue(r, key, x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = redactValue(r, name, item)
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

// newStatements returns the statements of an event that are not known yet, and the length of its turn. It runs before
// the transaction that stores the event, because other writers wait for that one.
func (s *Service) newStatements(ctx context.Context, actor *identity.Actor,
	in loci.SendEvent) (list []extract.Statement, length int, err error) {
	if in.Type != loci.EventPrompt && in.Type != loci.EventResponse || in.Content == "" {
		return nil, 0, nil
	}
	plain := actor.WithoutIdempotency()
	var turn extract.Turn
	var view *sessiondb.View
	policy, err := store.Read(ctx, s.Store, plain, func(tx *store.Tx) (p loci.Policy, err error) {
		if view, err = sessiondb.OpenView(tx, in.SessionID); err != nil {
			return p, err
		}
		isNew, err := isNewEvent(view, in)
		if err != nil || !isNew {
			return p, err
		}
		if p, err = view.Policy(); err == nil && p.Accepts(in.Adapter) {
			turn, err = readTurn(view, in)
		}
		return p, err
	})
	if err != nil || !policy.Accepts(in.Adapter) || excludes(policy, in.Metadata) {
		return nil, 0, err
	}
	turn.SaidOn = cmp.Or(in.OccurredAt, s.Store.Now()).Std()
	length = lengthOf(turn)
	list = extractFrom(turn, in.Type, policy.MinLength)
	if len(list) > 0 {
		list, err = s.withoutKnown(ctx, plain, view, list)
	}
	return list, length, err
}

// isNewEvent reports whether an event is not stored yet, and of the adapter of its session. Others cost no extraction.
// The state of the session may change until the event is stored, so it does not count here.
func isNewEvent(v *sessiondb.View, in loci.SendEvent) (bool, error) {
	if v.Adapter != in.Adapter {
		return false, nil
	}
	known, err := v.HasEvent(string(in.EventID))
	return !known, err
}

// lengthOf returns the number of characters of prompt and answer.
func lengthOf(t extract.Turn) int {
	return utf8.RuneCountInString(t.Prompt) + utf8.RuneCountInString(t.Response)
}

// readTurn returns the texts of the turn that an event belongs to, without quoted memories.
func readTurn(v *sessiondb.View, in loci.SendEvent) (t extract.Turn, err error) {
	text := fence.Strip(string(in.Content))
	if in.Type == loci.EventPrompt {
		t.Prompt = text
		t.Previous, err = v.LastAnswer()
	} else {
		t.Response = text
		t.Prompt, t.Previous, err = v.Texts(string(in.UnitKey))
		t.Prompt = fence.Strip(t.Prompt)
	}
	t.Previous = fence.Strip(t.Previous)
	return t, err
}

// extractFrom extracts from the prompt where it is long enough alone, and otherwise with its answer.
func extractFrom(t extract.Turn, of loci.EventType, minLength int) []extract.Statement {
	prompt := utf8.RuneCountInString(t.Prompt)
	switch {
	case of == loci.EventPrompt && prompt >= minLength:
		return extract.FromPrompt(t)
	case of == loci.EventPrompt || lengthOf(t) < minLength:
		return nil
	case prompt >= minLength:
		return extract.FromResponse(t)
	}
	list := append(extract.FromPrompt(t), extract.FromResponse(t)...)
	return list[:min(len(list), extract.MaxStatements)]
}

// Bounds of the memories with which a statement is compared: their number, the beginning of each text, and both for all
// statements of an event. Other texts would make a short event expensive.
const (
	knownMemories   = 10
	knownBeginning  = 32 << 10
	maxKnownCompare = 256 << 10
)

// withoutKnown removes the statements that repeat a memory of the atlas or an earlier candidate of the user, lightly
// reworded too.
func (s *Service) withoutKnown(ctx context.Context, actor *identity.Actor, v *sessiondb.View,
	list []extract.Statement) ([]extract.Statement, error) {
	texts, err := store.Read(ctx, s.Store, actor, func(tx *store.Tx) ([]string, error) {
		return sessiondb.KnownTexts(tx, v)
	})
	if err != nil {
		return nil, err
	}
	var kept []extract.Statement
	budget := maxKnownCompare
	for _, x := range list {
		known := slices.ContainsFunc(texts, extract.Repeater(x.Text))
		if !known {
			known, err = s.repeatsMemory(ctx, actor, v.AtlasID, x.Text, &budget)
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

// repeatsMemory reports whether a statement repeats an active memory of an atlas. It compares the bytes of the budget.
func (s *Service) repeatsMemory(ctx context.Context, actor *identity.Actor, atlas loci.ID, text string,
	budget *int) (bool, error) {
	query := loci.Query(extract.Words(text))
	if query.Empty() {
		return false, nil
	}
	found, err := s.Search(ctx, actor, query, atlas, knownMemories)
	repeats := extract.Repeater(text)
	for _, m := range found {
		known := m.Title + "\n" + m.Content
		known = known[:min(len(known), knownBeginning, *budget)]
		if *budget -= len(known); repeats(known) {
			return true, nil
		}
	}
	return false, err
}
