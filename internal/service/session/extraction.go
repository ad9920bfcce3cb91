package session

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// extractEvent is the kind of the job that extracts from an answer with the language model. The subject is the id of
// the event.
const extractEvent = "extract_event"

const (
	maxExtractionAge = 7 * 24 * time.Hour // how long an event waits for the model or its budget

	// a malformed answer ends the job from this failed attempt in a row on: each costs tokens
	attemptsBeforeDrop = 3
)

// extractionCounts count the calls of the language model by this process.
type extractionCounts struct{ tokens, failures atomic.Int64 }

// ExtractionTokens returns the tokens that this process has used at the language model.
func (s *Service) ExtractionTokens() int64 { return s.extraction.tokens.Load() }

// ExtractionFailures returns how many calls of the language model have failed in this process.
func (s *Service) ExtractionFailures() int64 { return s.extraction.failures.Load() }

// extracts reports whether the language model extracts from an event.
func (s *Service) extracts(in loci.SendEvent) bool {
	return s.Extractor != nil && in.Type == loci.EventResponse && in.Content != ""
}

// extractJob runs a job of the language model. A change in between, such as a paused policy, ends it without effect.
func (s *Service) extractJob(ctx context.Context, j jobdb.Job) error {
	if s.Store.Now().Std().Sub(j.AddedAt.Std()) > maxExtractionAge {
		return &jobdb.DroppedError{Err: errors.New("the language model drew nothing for seven days")}
	}
	err := s.extract(ctx, j)
	switch loci.AsError(err).Code {
	case loci.CodeNotFound, loci.CodeForbidden, loci.CodeStateConflict:
		return nil
	case loci.CodeQuotaExceeded:
		return &jobdb.DroppedError{Err: err}
	}
	return err
}

func (s *Service) extract(ctx context.Context, j jobdb.Job) error {
	e, err := s.openExtraction(ctx, loci.ID(j.Subject))
	if err != nil {
		return err
	}
	least, most := s.Extractor.Cost(e.turn)
	e.reserved, err = store.System(ctx, s.Store, "reserve tokens",
		func(t *store.SystemTx) (accountdb.TokenReservation, error) {
			return t.ReserveTokens(s.DailyTokens, least, most)
		})
	if err != nil {
		return err
	}
	if e.reserved.Tokens == 0 {
		return &jobdb.PauseError{Pause: e.reserved.DayEnd.Std().Sub(s.Store.Now().Std())}
	}
	list, used, err := s.Extractor.Extract(ctx, e.turn, e.reserved.Tokens)
	s.extraction.tokens.Add(used)
	settled := s.recordTokens(ctx, e, used)
	if err != nil {
		s.extraction.failures.Add(1)
		return errors.Join(extractionError(j, err), settled)
	}
	if list, err = s.acceptStatements(ctx, e, list); err == nil {
		err = s.keepExtracted(ctx, e, j, list)
	}
	return errors.Join(err, settled) // the statements are paid for: they are kept also where settled is an error
}

// extractionError returns the result of a job whose call failed.
func extractionError(j jobdb.Job, err error) error {
	if errors.Is(err, extract.ErrMalformed) && j.Attempts >= attemptsBeforeDrop {
		return &jobdb.DroppedError{Err: err}
	}
	if busy, ok := errors.AsType[*extract.BusyError](err); ok {
		return &jobdb.PauseError{Pause: busy.Pause, Reason: err}
	}
	return err
}

// An extraction is what a job of the language model works on. It acts in the name of the session's user.
type extraction struct {
	actor    *identity.Actor
	event    sessiondb.Event
	turn     extract.Turn
	reserved accountdb.TokenReservation
}

// openExtraction reads the turn of an event. Where nothing is to be extracted from it any more, it returns
// state_conflict.
func (s *Service) openExtraction(ctx context.Context, eventID loci.ID) (e extraction, err error) {
	session, err := store.SystemRead(ctx, s.Store, "find the session of an event",
		func(t *store.SystemTx) (id loci.ID, err error) {
			id, e.actor, err = sessiondb.OwnerOfEvent(t, eventID)
			return id, err
		})
	if err != nil {
		return e, err
	}
	var policy loci.Policy
	stored, err := store.Read(ctx, s.Store, e.actor, func(tx *store.Tx) (t sessiondb.Turn, err error) {
		view, err := sessiondb.OpenView(tx, session)
		if err != nil {
			return t, err
		}
		if t, err = view.OpenTurn(eventID); err != nil {
			return t, err
		}
		if policy, err = view.Policy(); err == nil {
			err = checkExtraction(&view.Row, policy, t.Metadata)
		}
		return t, err
	})
	if err != nil {
		return e, err
	}
	e.event, e.turn = stored.Event, turnOf(stored)
	if stored.Content == "" || lengthOf(e.turn) < policy.MinLength ||
		extract.Visible(e.turn.Prompt) == "" && extract.Visible(e.turn.Response) == "" {
		err = loci.NewError(loci.CodeStateConflict)
	}
	return e, err
}

// checkExtraction returns state_conflict where nothing more is extracted in a session under its policy.
func checkExtraction(x *sessiondb.Row, policy loci.Policy, metadata loci.Metadata) error {
	if !policy.Accepts(x.Adapter) || excludes(policy, metadata) {
		return loci.NewError(loci.CodeStateConflict)
	}
	if policy.Mode == loci.ModeCandidates {
		return limitOf(x.Counts.Candidates, loci.MaxCandidates, "candidates")
	}
	return nil
}

// turnOf returns the texts of a stored turn, without quoted memories.
func turnOf(t sessiondb.Turn) extract.Turn {
	clean := func(text string) string { return secret.Redacted(fence.Strip(text)) }
	return extract.Turn{Previous: clean(t.Previous), Prompt: clean(t.Prompt), Response: clean(t.Content),
		SaidOn: t.OccurredAt.Std()}
}

// recordTokens replaces the reservation of a call with the tokens that it used. A process that is killed before leaves
// the reservation, which then counts in full.
func (s *Service) recordTokens(ctx context.Context, e extraction, used int64) error {
	_, err := store.System(context.WithoutCancel(ctx), s.Store, "settle the tokens of a call",
		func(t *store.SystemTx) (loci.Empty, error) { return loci.Empty{}, t.SettleTokens(e.reserved, used) })
	return err
}

// acceptStatements returns what may be stored of the model's statements: redacted, and not known yet.
func (s *Service) acceptStatements(ctx context.Context, e extraction,
	list []extract.Statement) ([]extract.Statement, error) {
	for i := range list {
		list[i].Text = fence.Strip(list[i].Text)
	}
	list = e.turn.Accept(list)
	for i := range list {
		list[i].Text = secret.Redacted(list[i].Text)
	}
	if len(list) == 0 {
		return nil, nil
	}
	view, err := store.Read(ctx, s.Store, e.actor, func(tx *store.Tx) (*sessiondb.View, error) {
		return sessiondb.OpenView(tx, e.event.SessionID)
	})
	if err != nil {
		return nil, err
	}
	return s.withoutKnown(ctx, e.actor, view, list)
}

// keepExtracted stores statements and ends the job in one transaction.
func (s *Service) keepExtracted(ctx context.Context, e extraction, j jobdb.Job, list []extract.Statement) error {
	_, err := inSession(ctx, s, e.actor, e.event.SessionID, sessiondb.Own, store.ToChange,
		func(tx *store.Tx, x *sessiondb.Session) (loci.Empty, error) {
			policy, err := x.Policy()
			if err == nil {
				err = x.AcceptExtraction()
			}
			if err == nil {
				err = checkExtraction(&x.Row, policy, e.event.Metadata)
			}
			if err == nil {
				err = tx.FinishJob(j)
			}
			if err != nil {
				return loci.Empty{}, err
			}
			sources := candidateSources(e.event.EventID)[extract.MaxStatements:]
			_, err = s.keepStatements(tx, x, policy.Mode, eventStatements{e.event.SessionEvent, modelCompilerName,
				sources, list})
			return loci.Empty{}, err
		})
	return err
}
