package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// An embedding gives memories their vectors, in the background: no write waits
// for it. Several processes may do it on one database.
type embedding struct {
	s          *Store
	model      search.Embedder
	generation int64 // in the database; known once the work begins
	changing   bool  // some workspaces may still answer from another generation
	short      embedTurn
	long       embedTurn
	sliced     []*slicedTask // long texts under way, the next one first
	failures   int           // batches, one after another
	due        chan struct{}
	brief      bool                     // the process runs for one command
	wrote      atomic.Bool              // a text that is to be embedded
	ended      chan struct{}            // closed when the process ends
	late       atomic.Bool              // nothing more is begun
	aside      atomic.Bool              // another model's process leads
	dimensions atomic.Int64             // of each vector of the generation; 0 where there is none
	answering  atomic.Pointer[[]string] // generations, while some may change
	cancel     context.CancelFunc
	done       sync.WaitGroup
}

// generationOf names the vectors of a model as they lie in the store.
func generationOf(model string) string { return model + "/" + search.PassageVersion }

// reads reports whether the model can read a text, if it is the one that made the
// vectors of a generation: of others nothing is known.
func (e *embedding) reads(generation, text string) bool {
	return e.model == nil || generationOf(e.model.Generation()) != generation || search.Readable(text, e.model)
}

// Pauses between looks for work that nobody in this process announced.
const (
	idlePause = 2 * time.Second
	mostPause = 30 * time.Second
)

func (e *embedding) start(ctx context.Context, s *Store, o Options) {
	if o.Embedder == nil {
		return
	}
	e.s, e.model, e.brief, e.due = s, o.Embedder, o.Brief, make(chan struct{}, 1)
	e.ended = make(chan struct{})
	if !e.brief {
		ctx = context.WithoutCancel(ctx)
	}
	e.long.long = true
	ctx, e.cancel = context.WithCancel(ctx)
	e.done.Go(func() { e.run(ctx) })
}

// How long stop waits: until nothing more is begun, and, where the process runs for
// one command, until what is under way then is given up. The longest text takes the
// built-in model some twelve seconds, and whoever gives it up has embedded none of it.
const (
	lastBatch = 2 * time.Second
	lastWait  = time.Minute
)

// stop does what is due first, within reason: a program that runs for one
// command embeds here or never.
func (e *embedding) stop() {
	if e.model == nil {
		return
	}
	close(e.ended)
	late := time.AfterFunc(lastBatch, func() {
		if e.late.Store(true); !e.brief || !e.wrote.Load() {
			e.cancel()
		}
	})
	end := time.AfterFunc(lastWait, e.cancel)
	e.done.Wait()
	late.Stop()
	end.Stop()
	e.cancel()
}

// written begins with what a transaction has written.
func (e *embedding) written() {
	e.wrote.Store(true)
	e.wake()
}

func (e *embedding) wake() {
	select {
	case e.due <- struct{}{}:
	default:
	}
}

func (e *embedding) run(ctx context.Context) {
	defer func() { e.releaseSliced(ctx) }()
	for begun := false; ctx.Err() == nil && (!e.late.Load() || len(e.sliced) > 0); {
		pause, err := time.Duration(0), error(nil)
		closing := closed(e.ended) // asked before the look: what was written by then is seen
		if !begun {
			if err = e.begin(ctx); err == nil {
				begun = true
			}
		}
		if begun {
			pause, err = e.round(ctx)
		}
		if err != nil && ctx.Err() == nil {
			e.s.log.Error("embed", "err", err)
			e.failures++
		}
		if e.failures > 0 {
			pause = min(mostPause, 100*time.Millisecond<<min(e.failures, 10))
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
func (e *embedding) sleep(ctx context.Context, pause time.Duration) {
	due := e.due
	if e.failures > 0 {
		due = nil
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-due:
	case <-e.ended:
	case <-ctx.Done():
	}
}

// begin makes the model's generation known, and makes the memories wait that have
// no vectors of it.
func (e *embedding) begin(ctx context.Context) (err error) {
	var prepared bool
	e.generation, err = System(ctx, e.s, "know the generation of vectors", func(t *SystemTx) (rid int64, err error) {
		name := generationOf(e.model.Generation())
		if prepared, rid, err = t.generation(name); err == nil {
			err = t.lead(name)
		}
		if err == nil && !e.brief { // another command may be at work
			err = t.freeTasks()
		}
		return rid, err
	})
	if err != nil {
		return err
	}
	e.changing = true
	if err := errors.Join(e.measure(ctx), e.tell(ctx)); err != nil {
		return err
	}
	for after := int64(-1); !prepared; {
		last, err := System(ctx, e.s, "let memories wait for their vectors", func(t *SystemTx) (int64, error) {
			return t.prepareVectors(e.generation, after)
		})
		if err != nil {
			return err
		}
		after, prepared = last, last == after
	}
	return nil
}

// round embeds a batch of short texts and one slice of a long one, and returns how long to wait for more.
func (e *embedding) round(ctx context.Context) (time.Duration, error) {
	pause, leads := idlePause, false
	memories, err := SystemRead(ctx, e.s, "look who waits for vectors", func(t *SystemTx) (list []int64, err error) {
		if leads, err = t.leads(e.generation); err != nil || !leads || e.late.Load() {
			return nil, err
		}
		list, next, err := e.whoseTurn(t)
		pause = max(time.Millisecond, min(pause, next.Std().Sub(t.t.now.Std())))
		return list, err
	})
	if err != nil {
		return 0, err
	}
	if !leads {
		return pause, e.standAside(ctx)
	}
	if len(memories) == 0 && len(e.sliced) == 0 {
		e.failures = 0
		return pause, e.tidy(ctx)
	}
	if e.brief && !e.wrote.Load() {
		return idlePause, nil
	}
	return 0, errors.Join(e.embedBatch(ctx, memories), e.embedSlice(ctx))
}

// whoseTurn lists the memories whose turn it is: short texts, and one long text of an owner who has none under way. It
// returns when the next memory is due.
func (e *embedding) whoseTurn(t *SystemTx) (list []int64, next loci.Time, err error) {
	list, e.short, next, err = t.dueTasks(e.short, batchTasks)
	if err != nil || len(e.sliced) >= maxSliced {
		return list, next, err
	}
	long, turn, due, err := t.dueTasks(e.long, 1)
	e.long = turn
	if !slices.ContainsFunc(e.sliced, func(x *slicedTask) bool { return x.owner == turn.after }) {
		list = append(list, long...)
	}
	return list, min(next, due), err
}

// tidy lets the workspaces answer from the new generation that have all of it, and
// then removes what is of others.
func (e *embedding) tidy(ctx context.Context) (err error) {
	if !e.changing || closed(e.ended) {
		return nil
	}
	e.changing, err = System(ctx, e.s, "turn to the new generation of vectors", func(t *SystemTx) (bool, error) { return t.turn(e.generation) })
	if err == nil {
		err = e.tell(ctx)
	}
	return err
}

// tell lets searches know from which generations workspaces answer.
func (e *embedding) tell(ctx context.Context) error {
	names, err := SystemRead(ctx, e.s, "list the generations that answer", func(t *SystemTx) (list []string, err error) {
		err = t.t.c.few(`SELECT name FROM generations g WHERE EXISTS (SELECT 1 FROM indexes x WHERE x.generation = g.rid)`, nil, func(r row) error {
			list = append(list, "")
			return r.Scan(&list[len(list)-1])
		})
		return list, err
	})
	e.answering.Store(&names)
	return err
}

// Answers reports whether some workspace answers from the vectors of a model, as
// far as this process knows.
func (s *Store) Answers(generation string) bool {
	names := s.embedding.answering.Load()
	return names != nil && slices.Contains(*names, generationOf(generation))
}
