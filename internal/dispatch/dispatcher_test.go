package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/testenv"
)

// A fakeSource keeps the receipts of agents in memory.
type fakeSource struct {
	mu       sync.Mutex
	received map[loci.ID][]loci.ID // of an agent: the message at number n is at n-1
	hidden   map[loci.ID]bool      // messages out of reach
	ended    map[loci.ID]bool
	fails    bool
	queries  int
	during   func() // called once, during Deliveries
	notified []string
	receive  func(string)
}

func newFakeSource() *fakeSource {
	return &fakeSource{received: map[loci.ID][]loci.ID{}, hidden: map[loci.ID]bool{}, ended: map[loci.ID]bool{}}
}

var errDatabase = errors.New("the database is away")

func (f *fakeSource) query(run func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queries++; f.fails {
		return errDatabase
	}
	run()
	return nil
}

func (f *fakeSource) AgentStates(_ context.Context, ids []loci.ID) (map[loci.ID]messagedb.AgentState, error) {
	states := map[loci.ID]messagedb.AgentState{}
	return states, f.query(func() {
		for _, id := range ids {
			states[id] = messagedb.AgentState{LastNumber: int64(len(f.received[id])), Ended: f.ended[id]}
		}
	})
}

func (f *fakeSource) Deliveries(_ context.Context, after []messagedb.Position,
	limit int) (list []messagedb.Delivery, err error) {
	if during := f.during; during != nil {
		f.during = nil
		during()
	}
	return list, f.query(func() {
		for _, p := range after {
			for n := p.Number; n < int64(len(f.received[p.AgentID])); n++ {
				if m := f.received[p.AgentID][n]; !f.hidden[m] && len(list) < limit {
					list = append(list, messagedb.Delivery{Position: messagedb.Position{AgentID: p.AgentID,
						Number: n + 1}, MessageID: m})
				}
			}
		}
	})
}

func (f *fakeSource) Messages(_ context.Context, ids []loci.ID) (list []loci.Message, err error) {
	return list, f.query(func() {
		for _, id := range ids {
			list = append(list, loci.Message{ID: id, Content: string(id)})
		}
	})
}

func (f *fakeSource) NotifyServers(_ context.Context, payload string) error {
	return f.query(func() { f.notified = append(f.notified, payload) })
}

func (f *fakeSource) ListenServers(ctx context.Context, receive func(string)) error {
	f.mu.Lock()
	f.receive = receive
	f.mu.Unlock()
	receive("")
	<-ctx.Done()
	return nil
}

// send adds a message for agents.
func (f *fakeSource) send(agents ...loci.ID) (id loci.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id = loci.NewID(time.Now())
	for _, a := range agents {
		f.received[a] = append(f.received[a], id)
	}
	return id
}

func newDispatcher() (*fakeSource, *Dispatcher) {
	f := newFakeSource()
	return f, New(f, nil)
}

// A reader reads a subscription as the service does, and keeps what it has got.
type reader struct {
	f        *fakeSource
	sub      *Subscription
	agent    loci.ID
	position int64
	got      []loci.ID
	read     int // messages that came from the database
}

func (f *fakeSource) listen(t testenv.TB, d *Dispatcher, agent loci.ID) *reader {
	sub := testenv.Must(d.Subscribe("key of "+agent, agent))(t)
	r := &reader{f: f, sub: sub, agent: agent, position: int64(len(f.received[agent]))}
	sub.Start(r.position)
	return r
}

// next reads what there is, at most n events.
func (r *reader) next(n int) {
	for range n {
		next := r.sub.After(r.position)
		if next.Behind > 0 {
			r.f.mu.Lock()
			for ; r.position < next.Behind; r.position++ {
				if m := r.f.received[r.agent][r.position]; !r.f.hidden[m] {
					r.got, r.read = append(r.got, m), r.read+1
				}
			}
			r.f.mu.Unlock()
		}
		for _, e := range next.Events {
			r.got = append(r.got, e.Message.ID)
		}
		if r.position == next.Number {
			return
		}
		r.position = max(r.position, next.Number)
	}
}

// TestListenersGetEachMessageOnceInOrder compares streams with the receipts, whatever happens in between.
func TestListenersGetEachMessageOnceInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFakeSource()
		d := New(f, nil)
		agents := []loci.ID{"agt_a", "agt_b", "agt_c"}
		var readers []*reader
		from := map[*reader]int{}
		t.Repeat(map[string]func(*rapid.T){
			"listen": func(t *rapid.T) {
				r := f.listen(t, d, rapid.SampledFrom(agents).Draw(t, "agent"))
				from[r] = int(r.position)
				readers = append(readers, r)
			},
			"leave": func(t *rapid.T) {
				if len(readers) > 0 {
					n := rapid.IntRange(0, len(readers)-1).Draw(t, "reader")
					readers[n].sub.Close()
					readers = slices.Delete(readers, n, n+1)
				}
			},
			"send": func(t *rapid.T) {
				to := rapid.SliceOfNDistinct(rapid.SampledFrom(agents), 1, 3, rapid.ID).Draw(t, "to")
				for range rapid.SampledFrom([]int{1, 2, 3 * maxRecent}).Draw(t, "messages") {
					if id := f.send(to...); rapid.IntRange(0, 9).Draw(t, "hidden") == 0 {
						f.hidden[id] = true
					}
				}
				if rapid.Bool().Draw(t, "announced") {
					d.Announce(to)
				}
			},
			"look": func(t *rapid.T) {
				f.fails = rapid.IntRange(0, 4).Draw(t, "fails") == 0
				_ = d.Look(context.Background())
				f.fails = false
			},
			"look at all": func(*rapid.T) { d.Recheck(); _ = d.Look(context.Background()) },
			"read": func(t *rapid.T) {
				for _, r := range readers {
					r.next(rapid.IntRange(0, 3).Draw(t, "events"))
				}
			},
			"evict": func(*rapid.T) { d.events.RemoveFunc(func(*loci.AgentEvent) bool { return true }) },
		})
		d.Recheck()
		testenv.NoError(t, d.Look(context.Background()))
		for _, r := range readers {
			r.next(1 << 20)
			want := slices.DeleteFunc(slices.Clone(f.received[r.agent][from[r]:]), func(m loci.ID) bool {
				return f.hidden[m]
			})
			if !slices.Equal(r.got, want) {
				t.Fatalf("%s got %d messages, want %d", r.agent, len(r.got), len(want))
			}
			r.sub.Close()
		}
		if d.Streams() != 0 || len(d.agents) != 0 || len(d.streams) != 0 {
			t.Fatalf("%d streams are left", d.Streams())
		}
	})
}

func TestLookEncodesAMessageOnceForAll(t *testing.T) {
	t.Parallel()
	f, d := newDispatcher()
	var readers []*reader
	var agents []loci.ID
	for i := range 100 {
		agents = append(agents, loci.ID(fmt.Sprint("agt_", i)))
		readers = append(readers, f.listen(t, d, agents[i]))
	}
	look(t, d)
	f.queries = 0
	f.send(agents...)
	d.Announce(agents)
	look(t, d)
	testenv.Equal(t, f.queries, 2, "queries for one message to 100 listeners")
	first := readers[0].sub.After(0).Events[0]
	for _, r := range readers {
		if e := r.sub.After(0).Events; len(e) != 1 || &e[0].Encoding()[0] != &first.Encoding()[0] {
			t.Fatalf("%s has %v", r.agent, e)
		}
	}
}

func look(t *testing.T, d *Dispatcher) {
	t.Helper()
	testenv.NoError(t, d.Look(t.Context()))
}

func TestIdleListenersCostOneQueryAnInterval(t *testing.T) {
	t.Parallel()
	f, d := newDispatcher()
	for i := range 20 {
		f.listen(t, d, loci.ID(fmt.Sprint("agt_", i)))
	}
	look(t, d)
	d.checked = time.Time{}
	f.queries = 0
	look(t, d)
	look(t, d)
	testenv.Equal(t, f.queries, 1, "queries")
}

func TestRevocationEndsTheStreamsOfAnAgent(t *testing.T) {
	t.Parallel()
	f, d := newDispatcher()
	gone, stays := f.listen(t, d, "agt_gone"), f.listen(t, d, "agt_stays")
	f.ended["agt_gone"] = true
	d.Recheck()
	look(t, d)
	select {
	case <-gone.sub.Ended():
	default:
		t.Error("the stream goes on")
	}
	select {
	case <-stays.sub.Ended():
		t.Error("another stream ended")
	default:
	}
}

func TestSubscribeRefusesMoreThan50StreamsOfAKey(t *testing.T) {
	t.Parallel()
	d := New(newFakeSource(), nil)
	var last *Subscription
	for range maxStreams {
		last = testenv.Must(d.Subscribe("key", "agt_a"))(t)
	}
	if _, err := d.Subscribe("key", "agt_a"); !loci.Is(err, loci.CodeRateLimited) {
		t.Error(err)
	}
	if _, err := d.Subscribe("another", "agt_b"); err != nil {
		t.Error(err)
	}
	last.Close()
	last.Close()
	if _, err := d.Subscribe("key", "agt_a"); err != nil {
		t.Error(err)
	}
}

func TestServersWakeEachOther(t *testing.T) {
	t.Parallel()
	f, d := newDispatcher()
	woken := 0
	d.Wake = func() { woken++ }
	f.listen(t, d, "agt_a")
	look(t, d)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := d.Listen(ctx); err != nil || woken != 2 {
		t.Errorf("a new connection wakes: %v, %d", err, woken)
	}
	look(t, d)
	d.Announce([]loci.ID{"agt_a", "agt_b"})
	if err := d.Notify(t.Context()); err != nil || len(f.notified) != 1 {
		t.Fatal(err, f.notified)
	}
	if err := d.Notify(t.Context()); err != nil || len(f.notified) != 1 {
		t.Error("nothing was announced", err, f.notified)
	}
	woken = 0
	for payload, want := range map[string]int{
		f.notified[0]:                              0, // its own
		`{"server":"x","agents":["agt_b"]}`:        0,
		`{"server":"x","agents":["agt_a"]}`:        1,
		`{"server":"x","agents":null}`:             1,
		`{"server":"x","agents":["agt_a","agt_b"]`: 1, // damaged
	} {
		woken = 0
		clear(d.due)
		if f.receive(payload); woken != want {
			t.Errorf("%s wakes %d times, want %d", payload, woken, want)
		}
	}
	var many []loci.ID
	for i := range 500 {
		many = append(many, loci.ID(fmt.Sprintf("agt_%032d", i)))
	}
	d.Announce(many)
	if err := d.Notify(t.Context()); err != nil || len(f.notified[1]) > maxPayload {
		t.Errorf("%v, %d bytes", err, len(f.notified[1]))
	}
}

// A listener that begins during a look was not looked for, and must not be taken for up to date.
func TestListenerThatBeginsDuringALookMissesNothing(t *testing.T) {
	t.Parallel()
	f, d := newDispatcher()
	f.listen(t, d, "agt_a")
	look(t, d)
	beginning := testenv.Must(d.Subscribe("key", "agt_b"))(t)
	f.send("agt_a", "agt_b") // agt_b has read up to 0 before
	f.during = func() { beginning.Start(0) }
	d.Recheck()
	look(t, d)
	look(t, d)
	if next := beginning.After(0); len(next.Events) != 1 {
		t.Errorf("%+v", next)
	}
}

// A stream that is behind reads the database, which knows the memberships of this moment.
func TestMessagesAreNotKeptBeyondALook(t *testing.T) {
	t.Parallel()
	f, d := newDispatcher()
	r := f.listen(t, d, "agt_a")
	look(t, d)
	id := f.send("agt_a")
	d.Announce([]loci.ID{"agt_a"})
	look(t, d)
	f.hidden[id] = true // the membership ends
	d.Recheck()
	look(t, d)
	if r.next(10); len(r.got) != 0 {
		t.Errorf("a message out of reach is sent: %v", r.got)
	}
}

func TestEvictedMessagesComeOnce(t *testing.T) {
	t.Parallel()
	f, d := newDispatcher()
	r := f.listen(t, d, "agt_a")
	look(t, d)
	for range 10 {
		f.send("agt_a")
	}
	d.Announce([]loci.ID{"agt_a"})
	look(t, d)
	d.events.Remove(f.received["agt_a"][2])
	if r.next(100); !slices.Equal(r.got, f.received["agt_a"]) || r.read != 1 {
		t.Errorf("got %v with %d from the database, want %v", r.got, r.read, f.received["agt_a"])
	}
}
