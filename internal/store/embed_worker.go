package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/vector"
)

// An embedWorker gives memories their vectors, in the background: no write waits
// for it. Several processes may do it on one database.
type embedWorker struct {
	store      *Store
	model      vector.Embedder
	generation int64 // in the database; known once the work begins
	switching  bool  // some workspaces may still answer from another generation
	shortTurns roundRobin
	longTurns  roundRobin
	longJobs   []*longJob // long texts under way, the next one first
	failures   int        // batches, one after another
	wakeup     chan struct{}
	oneShot    bool                     // the process runs for one command
	hasWritten atomic.Bool              // a text that is to be embedded
	stopping   chan struct{}            // closed when the process ends
	draining   atomic.Bool              // nothing more is begun
	standby    atomic.Bool              // another model's process leads
	dimensions atomic.Int64             // of each vector of the generation; 0 where there is none
	served     atomic.Pointer[[]string] // generations, while some may change
	cancel     context.CancelFunc
	done       sync.WaitGroup
}

// generationName names the vectors of a model as they lie in the store.
func generationName(model string) string { return model + "/" + vector.ChunkVersion }

// canRead reports whether the model can read a text, if it is the one that made the
// vectors of a generation: of others nothing is known.
func (e *embedWorker) canRead(generation, text string) bool {
	return e.model == nil || generationName(e.model.Generation()) != generation || vector.Readable(text, e.model)
}

// Pauses between looks for work that nobody in this process announced.
const (
	pollInterval = 2 * time.Second
	maxBackoff   = 30 * time.Second
)

func (e *embedWorker) start(ctx context.Context, s *Store, o Options) {
	if o.Embedder == nil {
		return
	}
	e.store, e.model, e.oneShot, e.wakeup = s, o.Embedder, o.OneShot, make(chan struct{}, 1)
	e.stopping = make(chan struct{})
	if !e.oneShot {
		ctx = context.WithoutCancel(ctx)
	}
	e.longTurns.long = true
	ctx, e.cancel = context.WithCancel(ctx)
	e.done.Go(func() { e.run(ctx) })
}

// How long stop waits: until nothing more is begun, and, where the process runs for
// one command, until what is under way then is given up. The longest text takes the
// built-in model some twelve seconds, and whoever gives it up has embedded none of it.
const (
	drainTimeout = 2 * time.Second
	stopTimeout  = time.Minute
)

// stop does what is due first, within reason: a program that runs for one
// command embeds here or never.
func (e *embedWorker) stop() {
	if e.model == nil {
		return
	}
	close(e.stopping)
	late := time.AfterFunc(drainTimeout, func() {
		if e.draining.Store(true); !e.oneShot || !e.hasWritten.Load() {
			e.cancel()
		}
	})
	end := time.AfterFunc(stopTimeout, e.cancel)
	e.done.Wait()
	late.Stop()
	end.Stop()
	e.cancel()
}

// isClosed reports whether a channel is closed on which nothing is sent.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// notifyWritten begins with what a transaction has written.
func (e *embedWorker) notifyWritten() {
	e.hasWritten.Store(true)
	e.wake()
}

func (e *embedWorker) wake() {
	select {
	case e.wakeup <- struct{}{}:
	default:
	}
}

func (e *embedWorker) run(ctx context.Context) {
	defer func() { e.releaseLongJobs(ctx) }()
	for begun := false; ctx.Err() == nil && (!e.draining.Load() || len(e.longJobs) > 0); {
		pause, err := time.Duration(0), error(nil)
		closing := isClosed(e.stopping) // asked before the look: what was written by then is seen
		if !begun {
			if err = e.openGeneration(ctx); err == nil {
				begun = true
			}
		}
		if begun {
			pause, err = e.runRound(ctx)
		}
		if err != nil && ctx.Err() == nil {
			e.store.db.Log.Error("embed", "err", err)
			e.failures++
		}
		if e.failures > 0 {
			pause = min(maxBackoff, 100*time.Millisecond<<min(e.failures, 10))
		}
		if pause > 0 {
			if closing {
				return
			}
			e.sleep(ctx, pause)
		}
	}
}

// sleep ends early where there is work, unless work has failed, and where the process ends.
func (e *embedWorker) sleep(ctx context.Context, pause time.Duration) {
	due := e.wakeup
	if e.failures > 0 {
		due = nil
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-due:
	case <-e.stopping:
	case <-ctx.Done():
	}
}

// openGeneration makes the model's generation known, and makes the memories wait that have
// no vectors of it.
func (e *embedWorker) openGeneration(ctx context.Context) (err error) {
	var prepared bool
	e.generation, err = System(ctx, e.store, "know the generation of vectors",
		func(t *SystemTx) (rowID int64, err error) {
			name := generationName(e.model.Generation())
			if prepared, rowID, err = t.ensureGeneration(name); err == nil {
				err = t.claimModel(name)
			}
			if err == nil && !e.oneShot { // another command may be at work
				err = t.releaseLeases()
			}
			return rowID, err
		})
	if err != nil {
		return err
	}
	e.switching = true
	if err := errors.Join(e.detectDimensions(ctx), e.publishGenerations(ctx)); err != nil {
		return err
	}
	for after := int64(-1); !prepared; {
		last, err := System(ctx, e.store, "let memories wait for their vectors", func(t *SystemTx) (int64, error) {
			return t.enqueueMissing(e.generation, after)
		})
		if err != nil {
			return err
		}
		after, prepared = last, last == after
	}
	return nil
}

// runRound embeds a batch of short texts and one slice of a long one, and returns how long to wait for more.
func (e *embedWorker) runRound(ctx context.Context) (time.Duration, error) {
	pause, leads := pollInterval, false
	memories, err := SystemRead(ctx, e.store, "look who waits for vectors",
		func(t *SystemTx) (list []int64, err error) {
			if leads, err = t.isActiveModel(e.generation); err != nil || !leads || e.draining.Load() {
				return nil, err
			}
			list, next, err := e.nextJobs(t)
			pause = max(time.Millisecond, min(pause, next.Std().Sub(t.t.conn.Now.Std())))
			return list, err
		})
	if err != nil {
		return 0, err
	}
	if !leads {
		return pause, e.yield(ctx)
	}
	if len(memories) == 0 && len(e.longJobs) == 0 {
		e.failures = 0
		return pause, e.switchGeneration(ctx)
	}
	if e.oneShot && !e.hasWritten.Load() {
		return pollInterval, nil
	}
	return 0, errors.Join(e.runBatch(ctx, memories), e.embedLongJob(ctx))
}

// nextJobs lists the memories whose turn it is: short texts, and one long text of an owner who has none under way. It
// returns when the next memory is due.
func (e *embedWorker) nextJobs(t *SystemTx) (list []int64, next loci.Time, err error) {
	list, e.shortTurns, next, err = t.dueJobs(e.shortTurns, maxBatchJobs)
	if err != nil || len(e.longJobs) >= maxLongJobs {
		return list, next, err
	}
	long, turn, due, err := t.dueJobs(e.longTurns, 1)
	e.longTurns = turn
	if !slices.ContainsFunc(e.longJobs, func(x *longJob) bool { return x.owner == turn.after }) {
		list = append(list, long...)
	}
	return list, min(next, due), err
}

// switchGeneration lets the workspaces answer from the new generation that have all of it, and
// then removes what is of others.
func (e *embedWorker) switchGeneration(ctx context.Context) (err error) {
	if !e.switching || isClosed(e.stopping) {
		return nil
	}
	e.switching, err = System(ctx, e.store, "turn to the new generation of vectors", func(t *SystemTx) (bool, error) {
		return t.switchGeneration(e.generation)
	})
	if err == nil {
		err = e.publishGenerations(ctx)
	}
	return err
}

// publishGenerations lets searches know from which generations workspaces answer.
func (e *embedWorker) publishGenerations(ctx context.Context) error {
	names, err := SystemRead(ctx, e.store, "list the generations that answer",
		func(t *SystemTx) (list []string, err error) {
			err = t.t.conn.QueryFew(
				`SELECT name FROM generations g WHERE EXISTS (SELECT 1 FROM keyword_indexes x
					WHERE x.generation = g.row_id)`, nil, func(r sqldb.Row) error {
					list = append(list, "")
					return r.Scan(&list[len(list)-1])
				})
			return list, err
		})
	e.served.Store(&names)
	return err
}

// ServesGeneration reports whether some workspace answers from the vectors of a model, as
// far as this process knows.
func (s *Store) ServesGeneration(generation string) bool {
	names := s.embedder.served.Load()
	return names != nil && slices.Contains(*names, generationName(generation))
}
