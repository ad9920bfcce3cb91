package delivery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/capture/spool"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/pathglob"
	"github.com/loci-memory/loci/internal/service"
)

// A Courier delivers the events of one account. It is for one goroutine; several processes may have one for a folder.
type Courier struct {
	// Workspace is that of policy and sessions; "" means the personal one. A folder belongs to one workspace.
	Workspace loci.ID
	AsAgent   bool // calls name an agent

	dir     string
	spool   *spool.Spool
	open    func(context.Context) (op.Caller, error)
	caller  op.Caller
	hasRead bool // this process has read the policy
	now     func() time.Time
}

// New returns a courier with its files in a folder, which it makes. It calls open before its first call only.
func New(dir string, open func(context.Context) (op.Caller, error)) (*Courier, error) {
	s, err := spool.Open(dir)
	return &Courier{dir: dir, spool: s, open: open, now: time.Now}, err
}

// Enqueue puts events that the policy accepts into the spool. A policy that was never read, or was off, is read until
// ctx ends; after an error of that nothing is kept, and the courier is not used again. The spool does not wait for ctx.
func (c *Courier) Enqueue(ctx context.Context, events ...capture.Event) error {
	if len(events) == 0 {
		return nil
	}
	known := c.loadPolicy()
	if known.At.IsZero() || !known.Policy.Accepts(events[0].Adapter) { // perhaps it was turned on
		p, err := contextio.Await(ctx, func() (loci.Policy, error) { return c.policy(ctx) })
		if err != nil {
			return err
		}
		known.Policy = p
	}
	refused := func(e capture.Event) bool { return !accepts(known.Policy, e) }
	return c.spool.Append(context.WithoutCancel(ctx), slices.DeleteFunc(slices.Clone(events), refused)...)
}

// Deliver sends what waits in the spool, until ctx ends.
func (c *Courier) Deliver(ctx context.Context) error { return c.spool.Deliver(ctx, c.send) }

// Begin starts the session of an event, and returns what is known for it as Markdown: "" if the policy does not accept
// the event, or nothing is known.
func (c *Courier) Begin(ctx context.Context, e capture.Event, maxTokens int) (markdown string, err error) {
	p, err := c.policy(ctx)
	if err != nil || !accepts(p, e) {
		return "", err
	}
	started, err := c.start(ctx, e, loci.TokenBudget(maxTokens))
	if err != nil || len(started.Context.Groups) == 0 {
		return "", err
	}
	return started.Context.Markdown, nil
}

// Waiting returns how many candidates wait for the person's review: none if the policy does not accept the event.
func (c *Courier) Waiting(ctx context.Context, e capture.Event) (int64, error) {
	p, err := c.policy(ctx)
	if err != nil || !accepts(p, e) {
		return 0, err
	}
	status, err := call(ctx, c, service.AccountStatus, loci.Empty{})
	return status.Waiting.Candidates, err
}

// accepts reports whether a policy lets an event in. The server excludes by the same members of the metadata.
func accepts(p loci.Policy, e capture.Event) bool {
	name, _ := e.Input.Metadata["path"].(string)
	return p.Accepts(e.Adapter) && !pathglob.MatchAny(p.ExcludePaths, name, e.CWD())
}

// call runs an operation. The first call opens the caller.
func call[In, Out any](ctx context.Context, c *Courier, o op.TypedOp[In, Out], in In) (out Out, err error) {
	if c.caller == nil {
		caller, err := c.open(ctx)
		if err != nil {
			return out, err
		}
		c.caller = caller
	}
	with := &op.Call{Transport: "command", RequestID: string(loci.NewID(time.Now()))}
	if c.AsAgent {
		with.ActorHeader = op.ActorAgent
	}
	return op.Do(ctx, c.caller, with, o, in)
}

// send delivers one event. One that a proxy refuses counts as one that breaks the server, so that it is given up after
// some attempts.
func (c *Courier) send(ctx context.Context, e capture.Event) error {
	err := c.sendToServer(ctx, e)
	if c.isRefusedByProxy(ctx, err) {
		return loci.Errorf(loci.CodeInternalError, "a proxy before the server refuses the event")
	}
	return err
}

// isRefusedByProxy reports whether an error is of a proxy that refuses this request, such as for its size or its words,
// while the server answers others.
func (c *Courier) isRefusedByProxy(ctx context.Context, err error) bool {
	if !errors.Is(err, loci.ForeignResponseError{}) {
		return false
	}
	switch loci.AsError(err).Code.Status() {
	case 400, 403, 413:
		_, err = call(ctx, c, service.AutoGet, loci.GetPolicy{WorkspaceID: c.Workspace})
		return err == nil
	}
	return false
}

func (c *Courier) sendToServer(ctx context.Context, e capture.Event) error {
	p, err := c.policy(ctx)
	if err != nil || !accepts(p, e) {
		return err
	}
	id, known := c.sessionID(e)
	if !known && e.Input.Type == loci.EventSessionEnd {
		return nil // a session without a word is not worth a record
	}
	if known {
		if err = c.sendIn(ctx, id, e); !gone(err) {
			return err
		}
		c.forgetSession(e)
	}
	started, err := c.start(ctx, e, 1)
	if err != nil {
		return err
	}
	return c.sendIn(ctx, started.Session.ID, e)
}

// gone reports whether a session was deleted or ended: starting it again makes or resumes it.
func gone(err error) bool {
	return loci.Is(err, loci.CodeNotFound) || loci.Is(err, loci.CodeStateConflict)
}

// start starts or resumes the session of an event.
func (c *Courier) start(ctx context.Context, e capture.Event,
	maxTokens loci.TokenBudget) (out loci.StartedSession, err error) {
	out, err = call(ctx, c, service.SessionStart, loci.StartSession{Task: loci.TaskText(e.Task), Adapter: e.Adapter,
		WorkspaceID: c.Workspace, Kind: loci.SessionAutomatic, ExternalID: loci.ExternalID(e.ExternalID),
		SourceName: loci.SourceText(e.SourceName), MaxTokens: maxTokens})
	if err == nil {
		c.keepSession(e, out.Session.ID)
	}
	return out, err
}

// sendIn delivers an event of a session, and the audit of what was redacted from it.
func (c *Courier) sendIn(ctx context.Context, id loci.ID, e capture.Event) error {
	e.Input.SessionID = id
	received, err := call(ctx, c, service.SessionEvent, e.Input)
	if err != nil {
		return err
	}
	if received.Ignored {
		c.forgetPolicy() // it has changed since it was read
		return nil
	}
	if len(e.Audit) == 0 {
		return nil
	}
	_, err = call(ctx, c, service.AutoAudit, audit(id, e))
	if spool.IsPermanent(err) {
		return nil // the event has arrived
	}
	return err
}

func audit(id loci.ID, e capture.Event) loci.RecordAudit {
	total := loci.Count(0)
	for _, r := range e.Audit {
		total += r.Count
	}
	return loci.RecordAudit{SessionID: id, EventID: e.Input.EventID, Adapter: e.Adapter, Rules: e.Audit, Total: total,
		OccurredAt: e.Input.OccurredAt}
}
