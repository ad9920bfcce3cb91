package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/capture/delivery"
	"github.com/loci-memory/loci/internal/capture/spool"
	"github.com/loci-memory/loci/internal/op"
)

// The times of a collector.
const (
	deliveryInterval = time.Second            // between two deliveries while the agent runs
	deliveryLimit    = 10 * time.Second       // of one delivery
	enqueueLimit     = 2 * time.Second        // of the storing of one turn
	lastDelivery     = 300 * time.Millisecond // after the agent has ended
)

// errMissed reports that the agent was faster than its reader.
var errMissed = errors.New("parts of a conversation were not read in time")

// A Collector takes the events of a program that runs for long. It stores them in the spool at once, and delivers them
// in the background.
type Collector struct {
	adapter loci.Adapter
	log     logFile
	find    func() (*Target, error)
	search  sync.Mutex
	found   atomic.Pointer[Target] // nil until there is one
	enqueue func(context.Context, []capture.Event) error
	deliver func(context.Context) error
	wake    chan struct{}
	ending  chan struct{}
	done    chan struct{}
	cancel  context.CancelFunc
}

// NewCollector starts a collector. It continues when ctx is canceled: a signal is for the agent.
func NewCollector(ctx context.Context, adapter loci.Adapter, workspace loci.ID, o Options) *Collector {
	c := &Collector{adapter: adapter, log: logFile{dir: o.StateDir, now: time.Now}, find: o.Target}
	// one courier for each goroutine
	storing, sending := c.couriers(o.StateDir, workspace), c.couriers(o.StateDir, workspace)
	c.enqueue = func(ctx context.Context, events []capture.Event) error {
		courier, err := storing()
		if courier == nil || err != nil {
			return err
		}
		if err = courier.Enqueue(ctx, events...); err != nil {
			storing = c.couriers(o.StateDir, workspace) // a call of the old one may still run
		}
		return err
	}
	c.deliver = func(ctx context.Context) error {
		courier, err := sending()
		if courier == nil || err != nil {
			return err
		}
		return courier.Deliver(ctx)
	}
	return c.start(ctx)
}

// target returns the target, which it finds at the first turn, and looks for again until there is one.
func (c *Collector) target() (*Target, error) {
	c.search.Lock()
	defer c.search.Unlock()
	if t := c.found.Load(); t != nil {
		return t, nil
	}
	t, err := c.find()
	c.found.Store(t)
	return t, err
}

// couriers returns a function that makes a courier of the target once. It returns nil where nothing is to be done.
func (c *Collector) couriers(stateDir string, workspace loci.ID) func() (*delivery.Courier, error) {
	var made *delivery.Courier
	return func() (*delivery.Courier, error) {
		if made != nil {
			return made, nil
		}
		if stateDir == "" {
			return nil, errNoHome
		}
		t, err := c.target()
		if t == nil || err != nil {
			return nil, err
		}
		made, err = t.courier(stateDir, workspace)
		return made, err
	}
}

// courier returns a courier with its files in the folder of the target.
func (t *Target) courier(stateDir string, workspace loci.ID) (*delivery.Courier, error) {
	open := t.Open
	if workspace != "" && !workspace.Valid() {
		open = func(ctx context.Context) (op.Caller, error) {
			caller, err := t.Open(ctx)
			if err != nil {
				return nil, err
			}
			return t.ByName(caller), nil
		}
	}
	c, err := delivery.New(filepath.Join(stateDir, "spool", t.SpoolName(workspace)), open)
	if err == nil {
		c.Workspace, c.AsAgent = workspace, t.AsAgent
	}
	return c, err
}

// SpoolName names the spool of a workspace, which has an id or a name in any letter case.
func (t *Target) SpoolName(workspace loci.ID) string {
	if workspace == "" {
		return t.Folder
	}
	sum := sha256.Sum256([]byte(strings.ToLower(string(workspace))))
	return t.Folder + "-" + hex.EncodeToString(sum[:4])
}

func (c *Collector) start(ctx context.Context) *Collector {
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.wake, c.ending, c.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go c.run(ctx)
	return c
}

// Add stores the events of a turn, which are delivered soon.
func (c *Collector) Add(events []capture.Event) {
	ctx, cancel := context.WithTimeout(context.Background(), enqueueLimit)
	defer cancel()
	if err := c.enqueue(ctx, events); err != nil {
		c.log.add(c.adapter, events[0].Input.Type, err)
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Missed notes that parts of the conversation were not read.
func (c *Collector) Missed() { c.log.add(c.adapter, "", errMissed) }

func (c *Collector) run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-c.wake:
			c.deliverOnce(ctx)
		case <-c.ending:
			select {
			case <-c.wake:
				c.deliverOnce(ctx)
			default:
			}
			return
		}
		select {
		case <-time.After(deliveryInterval):
		case <-c.ending:
		}
	}
}

func (c *Collector) deliverOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, deliveryLimit)
	defer cancel()
	if err := c.deliver(ctx); err != nil && !errors.Is(err, spool.ErrBusy) { // another process delivers
		c.log.add(c.adapter, "", err)
	}
}

// End delivers the rest when everything was observed, for a short time. Other events wait for the next program.
func (c *Collector) End(observed <-chan struct{}) {
	defer c.cancel()
	late, stop := context.WithTimeout(context.Background(), lastDelivery)
	defer stop()
	select {
	case <-observed:
	case <-late.Done():
	}
	close(c.ending)
	select {
	case <-c.done:
	case <-late.Done():
	}
	if t := c.found.Load(); t != nil && t.Wait != nil {
		t.Wait()
	}
}
