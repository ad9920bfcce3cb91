package embeddb

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/job"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/vector"
)

// A Worker embeds queued memories in the background: no write waits for it. Several processes may run one on the same
// database.
type Worker struct {
	db      *sqldb.Handle
	model   vector.Embedder // nil embeds nothing
	oneShot bool            // the process runs one command
	jobs    *job.Runner
	wake    func()
	cancel  context.CancelFunc

	calls func() int64                              // of users, ever
	pause func(context.Context, time.Duration) bool // waits

	early       *cache.Cache[int64, []float32] // vectors that EmbedEarly computed, by the hash of their texts
	embedsEarly atomic.Bool                    // a writer waits for a vector

	// Of the goroutine that embeds.
	generation int64 // row id; 0 before openGeneration
	opened     bool
	switching  bool // some workspaces may still answer from another generation
	shortTurns roundRobin
	longTurns  roundRobin
	longJobs   []*longJob // unfinished long texts, the next one first

	hasWritten atomic.Bool              // this process has enqueued a text
	stopping   atomic.Bool              // Stop was called
	draining   atomic.Bool              // no further text is begun
	standby    atomic.Bool              // another model is active
	dimensions atomic.Int64             // of the vectors of the generation; 0 if there are none
	served     atomic.Pointer[[]string] // generations that workspaces answer from; nil until they are read
}

// New returns a worker that embeds with a model. A nil model embeds nothing. A one-shot process embeds only after it
// has written a text itself.
func New(db *sqldb.Handle, caches *cache.Budget, model vector.Embedder, oneShot bool) *Worker {
	return &Worker{db: db, model: model, oneShot: oneShot, longTurns: roundRobin{long: true}, wake: func() {},
		calls: sqldb.Calls, pause: contextio.Sleep,
		early: cache.New(caches, "early", func(_ int64, v []float32) int { return 4 * cap(v) }).AtMost(maxEarlyBytes)}
}

// pollInterval is the pause between looks for memories that other processes have enqueued.
const pollInterval = 2 * time.Second

// Start runs the worker until Stop. The context of a one-shot process also ends it.
func (w *Worker) Start(ctx context.Context) {
	if w.model == nil {
		return
	}
	if !w.oneShot {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.jobs = job.New(w.db.Log)
	w.wake = w.jobs.Add(job.Job{Name: "embed", Every: pollInterval, Drain: stopTimeout, Run: w.run})
	w.jobs.Start(ctx)
	w.wake()
}

// Limits of Stop. After drainTimeout no further text is begun. After stopTimeout a one-shot process cancels unfinished
// texts; the built-in model takes about twelve seconds for the longest text.
const (
	drainTimeout = 2 * time.Second
	stopTimeout  = time.Minute
)

// Stop embeds the texts that are due, within the limits: a one-shot process embeds them now or never.
func (w *Worker) Stop() {
	if w.jobs == nil {
		return
	}
	w.stopping.Store(true)
	late := time.AfterFunc(drainTimeout, func() {
		if w.draining.Store(true); !w.oneShot || !w.hasWritten.Load() {
			w.cancel()
		}
	})
	w.jobs.Stop()
	late.Stop()
	w.cancel()
	w.releaseLongJobs(context.Background())
}

// Jobs returns the states of the background work, none without a model.
func (w *Worker) Jobs() []job.Status {
	if w.jobs == nil {
		return nil
	}
	return w.jobs.Status()
}

// Ready reports whether the worker has claimed its model and read the generations in use. It may not have enqueued all
// memories yet.
func (w *Worker) Ready() bool { return w.served.Load() != nil }

func (w *Worker) notifyWritten() {
	w.hasWritten.Store(true)
	w.wake()
}

// CanRead reports whether the model can read a text. It reports true for the generations of other models.
func (w *Worker) CanRead(s State, text string) bool {
	return w.model == nil || !s.MadeBy(w.model.Generation()) || vector.Readable(text, w.model)
}

// run does one round of the job.
func (w *Worker) run(ctx context.Context) error {
	if !w.opened {
		if err := w.openGeneration(ctx); err != nil {
			return err
		}
		w.opened = true
	}
	pause, err := w.runRound(ctx)
	if err != nil {
		return err
	}
	return job.After(pause)
}

// openGeneration creates the generation of the model, and enqueues the memories without vectors of it.
func (w *Worker) openGeneration(ctx context.Context) (err error) {
	var prepared bool
	w.generation, err = sqldb.System(ctx, w.db, "store the name of a generation",
		func(t *sqldb.Tx) (rowID int64, err error) {
			name := generationName(w.model.Generation())
			// The lock of the claim prevents other models from deleting the generation.
			if err := claimModel(t, name); err != nil {
				return 0, err
			}
			if prepared, rowID, err = ensureGeneration(t, name); err == nil && !w.oneShot { // other commands may run
				err = releaseLeases(t)
			}
			return rowID, err
		})
	if err != nil {
		return err
	}
	w.switching = true
	if err := errors.Join(w.detectDimensions(ctx), w.publishGenerations(ctx)); err != nil {
		return err
	}
	for after := int64(-1); !prepared; {
		last, err := sqldb.System(ctx, w.db, "queue memories for embedding", func(t *sqldb.Tx) (int64, error) {
			return enqueueMissing(t, w.generation, after)
		})
		if err != nil {
			return err
		}
		after, prepared = last, last == after
	}
	return nil
}

// runRound embeds a batch of short texts and one turn of a long text. It returns the pause before the next round.
func (w *Worker) runRound(ctx context.Context) (time.Duration, error) {
	pause, active, model := pollInterval, int64(0), ""
	memories, err := sqldb.SystemRead(ctx, w.db, "read the embedding queue",
		func(t *sqldb.Tx) (list []int64, err error) {
			active, model, err = readActiveModel(t)
			if err != nil || active != w.generation || w.draining.Load() {
				return nil, err
			}
			list, next, err := w.nextJobs(t)
			pause = max(time.Millisecond, min(pause, next.Std().Sub(t.Now.Std())))
			return list, err
		})
	if err != nil {
		return 0, err
	}
	if active != w.generation {
		// A generation that was deleted and created again has another row id: the next round opens it.
		w.opened = model != generationName(w.model.Generation())
		return pause, w.yield(ctx)
	}
	if w.standby.Swap(false) { // a process with the same model has started
		w.switching = true
	}
	if len(memories) == 0 && len(w.longJobs) == 0 {
		return pause, w.switchGeneration(ctx)
	}
	if w.oneShot && !w.hasWritten.Load() {
		return pollInterval, nil
	}
	return 0, errors.Join(w.runBatch(ctx, memories), w.embedLongJob(ctx))
}

// nextJobs lists memories to embed: short texts, and one long text of an owner without a long job. It returns when the
// next memory is due.
func (w *Worker) nextJobs(t *sqldb.Tx) (list []int64, next loci.Time, err error) {
	list, w.shortTurns, next, err = dueJobs(t, w.shortTurns, maxBatchJobs)
	if err != nil || len(w.longJobs) >= maxLongJobs {
		return list, next, err
	}
	long, turn, due, err := dueJobs(t, w.longTurns, 1)
	w.longTurns = turn
	if !slices.ContainsFunc(w.longJobs, func(x *longJob) bool { return x.owner == turn.after }) {
		list = append(list, long...)
	}
	return list, min(next, due), err
}

// switchGeneration switches workspaces to the generation, and publishes that. A model that has embedded no text yet may
// be unreachable: its failures are not those of the texts.
func (w *Worker) switchGeneration(ctx context.Context) (err error) {
	if !w.switching || w.stopping.Load() || w.dimensions.Load() == 0 {
		return nil
	}
	w.switching, err = sqldb.System(ctx, w.db, "switch to the new generation",
		func(t *sqldb.Tx) (bool, error) { return switchWorkspaces(t, w.generation) })
	if err == nil {
		err = w.publishGenerations(ctx)
	}
	return err
}
