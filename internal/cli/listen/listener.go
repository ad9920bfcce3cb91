package listen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/format"
)

// queueLength is the number of events that are read ahead of a running command: at most 32 MiB of messages.
const queueLength = 1000

// A listener is one run of the command.
type listener struct {
	console   *console.Console
	client    *client.Client
	workspace loci.ID
	program   []string // the command for each message and its arguments; nil prints

	notes     sync.Mutex
	connected bool
}

// run listens until ctx ends, which is no error, or until the server refuses the key.
func (l *listener) run(ctx context.Context) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	events := make(chan loci.AgentEvent, queueLength)
	// A revoked key ends the running command, and messages in the queue are not handled. They are printed.
	refused, revoke := context.WithCancelCause(context.WithoutCancel(ctx))
	defer revoke(nil)
	var final error
	go func() {
		defer close(events)
		final = l.read(reading, events)
		if loci.Is(final, loci.CodeRevoked) && l.program != nil {
			revoke(final)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-refused.Done():
			return context.Cause(refused)
		case e, ok := <-events:
			if !ok {
				return l.end(ctx, final)
			}
			if err := l.handle(ctx, refused, e); err != nil {
				return err
			}
		}
	}
}

// end returns the error of the last event.
func (l *listener) end(ctx context.Context, final error) error {
	if ctx.Err() != nil {
		return nil
	}
	return final
}

// read sends the events to the queue, and returns the error that ends them.
func (l *listener) read(ctx context.Context, queue chan<- loci.AgentEvent) error {
	for e, err := range l.client.AgentEvents(ctx, loci.ListenAgent{WorkspaceID: l.workspace},
		client.OnReconnect(l.noteLoss)) {
		if err != nil {
			return err
		}
		if e.EventName() == loci.EventReady {
			l.noteReady(e)
		}
		select {
		case queue <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// handle handles the messages of an event.
func (l *listener) handle(ctx, refused context.Context, e loci.AgentEvent) error {
	for _, m := range e.Messages() {
		switch {
		case l.workspace != "" && m.WorkspaceID != l.workspace:
			continue
		case ctx.Err() != nil || refused.Err() != nil:
			return context.Cause(refused)
		case l.program == nil:
			if err := l.console.PrintJSON(m); err != nil {
				return err
			}
			continue
		}
		if err := l.execute(ctx, refused, m); err != nil {
			return err
		}
	}
	return nil
}

// execute runs the command for a message, and acknowledges the message if it succeeds.
func (l *listener) execute(ctx, refused context.Context, m loci.Message) error {
	err := l.runProgram(ctx, refused, m)
	switch {
	case refused.Err() != nil:
		return context.Cause(refused)
	case err != nil:
		l.note(fmt.Sprintf("The message %s of %s stays unread, because the command failed: %v", m.ID, m.From.Name, err))
		return nil
	}
	return l.acknowledge(ctx, refused, m.ID)
}

const (
	// ackTimeout bounds a call that acknowledges a message.
	ackTimeout = 10 * time.Second
	// Pauses before such a call is repeated grow from one to the other.
	minAckPause, maxAckPause = 250 * time.Millisecond, 30 * time.Second
)

// acknowledge acknowledges a message. The next command waits for it, so that no more than one message runs twice if
// this process ends meanwhile.
func (l *listener) acknowledge(ctx, refused context.Context, id loci.ID) error {
	for pause := minAckPause; ; pause = min(2*pause, maxAckPause) {
		call, cancel := context.WithTimeout(refused, ackTimeout)
		_, err := l.client.AgentAcknowledge(call, loci.GetMessage{MessageID: id})
		cancel()
		e := loci.AsError(err)
		switch {
		case err == nil, e.Code == loci.CodeNotFound, e.Code == loci.CodeStateConflict: // deleted, or closed already
			return nil
		case refused.Err() != nil:
			return context.Cause(refused)
		case !slices.Contains(temporary, e.Code) && !errors.Is(err, context.DeadlineExceeded):
			return err
		case pause == minAckPause:
			l.note(fmt.Sprintf("The message %s cannot be acknowledged yet: %s", id, e.Message))
		}
		timer := time.NewTimer(max(pause, e.RetryAfter))
		select {
		case <-timer.C:
		case <-refused.Done():
		case <-ctx.Done():
			l.note(fmt.Sprintf("The message %s stays unread, because it could not be acknowledged.", id))
			return nil
		}
		timer.Stop()
	}
}

// temporary are the codes of refusals after which a call is repeated.
var temporary = []loci.Code{loci.CodeUnavailable, loci.CodeRateLimited, loci.CodeInternalError, loci.CodeStorageFull}

// noteReady tells that a stream has begun.
func (l *listener) noteReady(e loci.AgentEvent) {
	if l.connected {
		l.note("Connected again.")
		return
	}
	l.connected = true
	l.note(fmt.Sprintf("Listening at %s as the agent %s. Ctrl-C ends it.", l.client.URL(), e.AgentID))
}

// noteLoss tells why and when the stream connects again.
func (l *listener) noteLoss(reason error, pause time.Duration) {
	l.note(fmt.Sprintf("%s: reconnecting in %v", loci.AsError(reason).Message, pause.Round(100*time.Millisecond)))
}

// note writes a line for people.
func (l *listener) note(text string) {
	l.notes.Lock()
	defer l.notes.Unlock()
	l.console.PrintMessage(format.StripControl(text, false))
}
