package hook

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/capture/delivery"
	"github.com/loci-memory/loci/internal/capture/spool"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/op"
)

const (
	// CallTime bounds the calls of a run. slack is what the work before them may take without shortening them.
	CallTime = 150 * time.Millisecond
	slack    = 100 * time.Millisecond
	// grace is what a call may take to notice that its time is up.
	grace = 10 * time.Millisecond
	// readTime is how long an agent may take to write its payload, and parseTime bounds the extraction of events from
	// it.
	readTime  = 5 * time.Second
	parseTime = time.Second
	// contextTokens bounds what an agent is given at the start of a session.
	contextTokens = 4000
)

// A run is one call of the command.
type run struct {
	Options
	agent     loci.Adapter
	args      []string
	workspace loci.ID
	began     time.Time
	log       logFile
}

func newRun(o Options, args []string) *run {
	r := &run{Options: o, began: time.Now(), log: logFile{dir: o.StateDir, now: time.Now}}
	if len(args) > 0 {
		r.agent, r.args = loci.Adapter(args[0]), args[1:]
	}
	return r
}

// start takes the payload and returns in time. Work that still runs then ends with the process.
func (r *run) start(ctx context.Context) {
	defer r.recover()
	signal.Ignore(syscall.SIGPIPE) // an agent that does not read the answer
	payload, err := r.payload()
	if err != nil {
		r.log.add(r.agent, "", err)
		return
	}
	events, err := r.events(payload)
	if err != nil || len(events) == 0 {
		r.log.add(r.agent, "", err)
		return
	}
	for i := range events {
		if events[i].Input.OccurredAt == 0 {
			events[i].Input.OccurredAt = loci.TimeOf(r.began)
		}
	}
	r.log.add(r.agent, events[0].Input.Type, r.deliver(ctx, events))
}

// recover logs a panic, whose exit code of 2 would stop an agent.
func (r *run) recover() {
	if recover() != nil {
		r.log.add(r.agent, "", errPanic)
	}
}

var errPanic = errors.New("internal error")

var (
	errNoPayload = errors.New("no payload came on the standard input in time")
	errSlow      = errors.New("the payload was not read in time")
	errFlags     = errors.New("invalid flags")
)

// payload returns the argument of notify, or the standard input.
func (r *run) payload() ([]byte, error) {
	if len(r.args) > 0 && strings.HasPrefix(strings.TrimSpace(r.args[len(r.args)-1]), "{") {
		return []byte(r.args[len(r.args)-1]), nil
	}
	return await(readTime, errNoPayload, func() ([]byte, error) {
		return io.ReadAll(io.LimitReader(r.Console.In, capture.MaxPayload+1))
	})
}

// events returns the events of a payload.
func (r *run) events(payload []byte) ([]capture.Event, error) {
	return await(parseTime, errSlow, func() ([]capture.Event, error) { return capture.Read(r.agent, payload) })
}

// await returns the result of a call that cannot be interrupted, or late once its time is up. A panic is an error.
func await[T any](limit time.Duration, late error, call func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	out, err := contextio.Await(ctx, func() (out T, err error) {
		defer func() {
			if recover() != nil {
				err = errPanic
			}
		}()
		return call()
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = late
	}
	return out, err
}

// deliver spools the events, prints what the agent reads, and delivers what waits, while there is time.
func (r *run) deliver(ctx context.Context, events []capture.Event) error {
	if r.StateDir == "" {
		return errNoHome
	}
	ctx, cancel := context.WithDeadline(ctx, r.deadline())
	defer cancel()
	t, err := r.Target()
	if err != nil || t == nil {
		return err
	}
	c, err := t.courier(r.StateDir, r.workspace)
	if err != nil {
		return err
	}
	if err := c.Enqueue(ctx, events...); err != nil {
		return err
	}
	answers, done := make(chan answer, 2), make(chan error, 1)
	go func() { // a call that does not notice the end of its time must not make the agent wait
		defer close(done)
		defer r.recover()
		a := r.begin(ctx, c, events[0])
		answers <- a
		err := c.Deliver(ctx)
		if a.isForStart {
			answers <- r.addWaiting(ctx, t, c, events[0], a)
		}
		done <- err
	}()
	return r.finish(ctx, t, answers, done)
}

// finish prints the last answer to a session that begins, and returns when all is done or time is up.
func (r *run) finish(ctx context.Context, t *Target, answers <-chan answer, done <-chan error) (err error) {
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(grace):
			err = ctx.Err()
		}
	}
	if t.Wait != nil {
		t.Wait()
	}
	var last answer
	for len(answers) > 0 {
		last = <-answers
	}
	r.print(last)
	return err
}

// deadline returns the end of the calls.
func (r *run) deadline() time.Time {
	end := time.Now().Add(r.CallTime)
	if last := r.began.Add(r.CallTime + slack); last.Before(end) {
		return last
	}
	return end
}

var errNoHome = errors.New("there is no home folder")

// An answer to a SessionStart hook has the form of Claude Code, which Codex and WorkBuddy share.
type answer struct {
	ToPerson string        `json:"systemMessage,omitzero"`
	ToModel  *modelContext `json:"hookSpecificOutput,omitzero"`

	isForStart bool // of a session that the person begins
}

type modelContext struct {
	Event   string `json:"hookEventName"`
	Context string `json:"additionalContext"`
}

// begin returns the context of a new session, if its agent reads it. An agent that resumes a session has read it.
func (r *run) begin(ctx context.Context, c *delivery.Courier, e capture.Event) (a answer) {
	reads := r.agent == "claude" || r.agent == "codex" || r.agent == "workbuddy"
	if !reads || e.Input.Type != loci.EventSessionStart || e.Input.EventID == "session.start:resume" {
		return a
	}
	markdown, err := c.Begin(ctx, e, contextTokens)
	if markdown != "" {
		a.ToModel = &modelContext{"SessionStart", markdown}
	}
	r.logContext(err)
	a.isForStart = err == nil && e.Input.EventID != "session.start:compact" // the person knows a compacted session
	return a
}

// addWaiting returns the answer with the number of candidates that wait for the person.
func (r *run) addWaiting(ctx context.Context, t *Target, c *delivery.Courier, e capture.Event, a answer) answer {
	waiting, err := c.Waiting(ctx, e)
	if waiting > 0 {
		a.ToPerson = "Loci: " + console.WaitingCandidates(waiting, t.Flags())
	}
	r.logContext(err)
	return a
}

func (r *run) logContext(err error) {
	if err != nil && !errors.Is(err, spool.ErrWait) {
		r.log.add(r.agent, "context", err)
	}
}

// print writes an answer, unless it is empty.
func (r *run) print(a answer) {
	if a.ToPerson == "" && a.ToModel == nil {
		return
	}
	if b, err := op.Marshal(a); err == nil {
		_, _ = r.Console.Out.Write(append(b, '\n'))
	}
}
