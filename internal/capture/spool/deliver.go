package spool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
)

// ErrWait reports that the next attempt is later: the server asked for it, or does not answer.
var ErrWait = errors.New("the next delivery is later")

const (
	// freeFailures is the number of failed deliveries in a row before hooks pause.
	freeFailures = 3
	// maxPause bounds the pause after failures, and maxRetryAfter the one that a server asks for.
	maxPause      = time.Minute
	maxRetryAfter = time.Hour
	// maxAttempts bounds the attempts for an event that breaks the server.
	maxAttempts = 20
)

// IsPermanent reports whether the same event can never be accepted: the status is 400, 404, 409, 412, 413 or 415.
func IsPermanent(err error) bool {
	switch codeOf(err).Status() {
	case 400, 404, 409, 412, 413, 415:
		return true
	}
	return false
}

// codeOf returns the code of an error. One that is not Loci's counts as unavailable, such as a deadline or the page of
// a proxy whose server is away.
func codeOf(err error) loci.Code {
	e, ok := errors.AsType[*loci.Error](err)
	if !ok || errors.Is(err, loci.ForeignResponseError{}) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) {
		return loci.CodeUnavailable
	}
	return e.Code
}

// Deliver sends events in their order and removes each that send accepts. A permanent error removes the event too, and
// is counted. Any other error ends the delivery. Only one process delivers: others wait for it until ctx ends.
func (s *Spool) Deliver(ctx context.Context, send func(context.Context, capture.Event) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	unlock, err := s.lock(ctx, "delivery.lock")
	if err != nil {
		return err
	}
	defer unlock()
	for {
		e, line, err := s.first(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		sent := send(ctx, e)
		// The result is recorded even if time is up: otherwise the event is sent again.
		err = s.record(context.WithoutCancel(ctx), line, sent)
		if err != nil {
			return err
		}
	}
}

// first returns the oldest event. Without one it empties the file.
func (s *Spool) first(ctx context.Context) (e capture.Event, line []byte, err error) {
	if ctx.Err() != nil {
		return e, nil, ctx.Err()
	}
	err = s.locked(ctx, func() (err error) {
		f, err := s.open()
		if f == nil && err == nil {
			return io.EOF
		}
		if err != nil {
			return err
		}
		defer f.Close()
		st := s.loadState()
		if wait := st.NextAttempt.Sub(s.now()); wait > 0 && wait <= maxRetryAfter { // else the clock was changed
			return ErrWait
		}
		r := newReader(f, st.Done)
		if r.size == 0 {
			return io.EOF
		}
		if e, line, err = r.next(); err == io.EOF {
			_ = f.Truncate(0) // the next append resets the offset
		}
		return err
	})
	return e, line, err
}

// record stores the result of sending the event of a line.
func (s *Spool) record(ctx context.Context, line []byte, sent error) error {
	return s.locked(ctx, func() error {
		st := s.loadState()
		done := sent == nil || IsPermanent(sent)
		if sent == nil {
			st.Failures, st.NextAttempt, st.LastError = 0, time.Time{}, nil
		} else {
			st.LastError = &Failure{codeOf(sent), s.now().UTC().Round(time.Second)}
			if !done {
				st.Failures++
				st.NextAttempt = s.now().Add(pause(st.Failures, loci.AsError(sent)))
				done = st.Failures >= maxAttempts && codeOf(sent) == loci.CodeInternalError
			}
			if done {
				st.Refused, st.Failures, st.NextAttempt = st.Refused+1, 0, time.Time{}
				st.LastLoss = st.LastError.At
			}
		}
		if done {
			if err := s.advance(&st, line); err != nil {
				return err
			}
			sent = nil
		}
		return errors.Join(sent, s.saveState(st))
	})
}

// advance moves the start behind a line, unless another process dropped it meanwhile.
func (s *Spool) advance(st *state, line []byte) error {
	f, err := s.open()
	if f == nil {
		return err
	}
	defer f.Close()
	r := newReader(f, st.Done)
	if _, first, err := r.next(); err == nil && bytes.Equal(first, line) {
		st.Done = r.offset
	}
	return nil
}

// pause returns the time before the next attempt.
func pause(failures int, e *loci.Error) time.Duration {
	if e.RetryAfter > 0 {
		return min(e.RetryAfter, maxRetryAfter)
	}
	if failures <= freeFailures {
		return 0
	}
	return min(time.Second<<min(failures-freeFailures-1, 10), maxPause)
}
