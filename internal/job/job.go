// Package job runs background work in rounds, at an interval or after a wake-up. It has a backoff after failures, a
// status for metrics, and an ordered stop.
package job

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"
)

// A Job is background work that is done in rounds, one at a time.
type Job struct {
	Name  string        // in the log and in metrics
	Every time.Duration // pause between rounds; 0 waits for a wake-up
	Drain time.Duration // how long Stop lets due rounds continue

	MaxBackoff time.Duration // the longest pause after failures; 0 means 30 s

	// Run does one round. It may return After to choose the pause before the next round. Any other error is logged, and
	// the next round waits for the backoff.
	Run func(context.Context) error
}

// After requests the next round after a pause; After(0) requests it at once, because more is due.
type After time.Duration

// Error returns the pause. It makes After a result of Run.
func (a After) Error() string { return "again after " + time.Duration(a).String() }

// Bounds of the pause after a failure. It doubles with each further one.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 30 * time.Second // unless a job has another
)

// A Status is the state of a job.
type Status struct {
	Name         string
	LastStart    time.Time     // of the last round that has ended; zero before the first
	LastDuration time.Duration // of that round
	LastError    error         // of that round
	Failures     int64         // rounds that failed, ever
}

// A Runner runs jobs, each in a goroutine of its own.
type Runner struct {
	log   *slog.Logger
	loops []*loop
}

// New returns a runner without jobs.
func New(log *slog.Logger) *Runner { return &Runner{log: log} }

// Add registers a job before Start. wake starts the next round early, unless the last one failed. Calls of wake before
// that round count as one.
func (r *Runner) Add(j Job) (wake func()) {
	if j.Every == 0 {
		j.Every = math.MaxInt64
	}
	l := &loop{Job: j, log: r.log, wakeup: make(chan struct{}, 1), stopping: make(chan struct{}),
		done: make(chan struct{}), status: Status{Name: j.Name}}
	r.loops = append(r.loops, l)
	return func() {
		select {
		case l.wakeup <- struct{}{}:
		default:
		}
	}
}

// Start runs the jobs until Stop is called or ctx ends.
func (r *Runner) Start(ctx context.Context) {
	for _, l := range r.loops {
		var each context.Context
		each, l.cancel = context.WithCancel(ctx)
		go l.run(each)
	}
}

// Stop ends the jobs in the reverse order of Add and waits for them. A job with a Drain finishes what is due first;
// rounds of the others are canceled. Stop must be called once, after Start.
func (r *Runner) Stop() {
	for _, l := range slices.Backward(r.loops) {
		if l.Drain == 0 {
			l.cancel()
		}
		close(l.stopping)
		late := time.AfterFunc(l.Drain, l.cancel)
		<-l.done
		late.Stop()
		l.cancel()
	}
}

// Status returns the states of the jobs in the order of Add.
func (r *Runner) Status() []Status {
	list := make([]Status, len(r.loops))
	for i, l := range r.loops {
		l.mu.Lock()
		list[i] = l.status
		l.mu.Unlock()
	}
	return list
}

// A loop runs one job.
type loop struct {
	Job
	log      *slog.Logger
	wakeup   chan struct{}
	stopping chan struct{}
	done     chan struct{}
	cancel   context.CancelFunc
	backoff  time.Duration // 0: the last round did not fail

	mu     sync.Mutex
	status Status
}

func (l *loop) run(ctx context.Context) {
	defer close(l.done)
	for pause := l.Every; ; {
		stopping := l.sleep(ctx, pause)
		if ctx.Err() != nil {
			return
		}
		if pause = l.round(ctx); stopping && pause > 0 {
			return
		}
	}
}

// sleep waits for the next round and reports whether the runner stops. The check precedes the round, so that the last
// round sees all work that was due by then.
func (l *loop) sleep(ctx context.Context, pause time.Duration) (stopping bool) {
	wakeup := l.wakeup
	if l.backoff > 0 {
		wakeup = nil
	}
	select {
	case <-time.After(pause):
	case <-wakeup:
	case <-l.stopping:
	case <-ctx.Done():
	}
	select {
	case <-l.stopping:
		return true
	default:
		return false
	}
}

// round runs the job once and returns the pause before the next round.
func (l *loop) round(ctx context.Context) time.Duration {
	start := time.Now()
	err := l.Run(ctx)
	pause, backoff := l.Every, time.Duration(0)
	if after, ok := errors.AsType[After](err); ok {
		pause, err = time.Duration(after), nil
	}
	if err != nil && ctx.Err() == nil {
		l.log.Error(l.Name, "err", err)
		backoff = min(max(2*l.backoff, minBackoff), cmp.Or(l.MaxBackoff, maxBackoff))
		pause = backoff
	}
	l.backoff = backoff
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.LastStart, l.status.LastDuration, l.status.LastError = start, time.Since(start), err
	if backoff > 0 {
		l.status.Failures++
	}
	return pause
}
