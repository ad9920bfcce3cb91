//go:build unix

package relay

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// A recorder keeps what it observes. It waits for open before it reads.
type recorder struct {
	open           chan struct{}
	client, agent  bytes.Buffer
	lost           int
	firstDirection direction
	faulty         bool
}

func newRecorder() *recorder { return &recorder{open: make(chan struct{}), firstDirection: -1} }

func (r *recorder) read(b *bytes.Buffer, d direction, data []byte) {
	<-r.open
	if r.faulty {
		panic("a fault")
	}
	if r.firstDirection < 0 {
		r.firstDirection = d
	}
	b.Write(data)
}

func (r *recorder) FromClient(data []byte) { r.read(&r.client, fromClient, data) }
func (r *recorder) FromAgent(data []byte)  { r.read(&r.agent, fromAgent, data) }
func (r *recorder) Lost()                  { r.lost++ }

// run relays the text to a program that returns it. It returns the output, and a function that waits for the observer.
func run(t *testing.T, o Observer, text string) (output string, wait func()) {
	t.Helper()
	in, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.WriteString(write, text)
		_ = write.Close()
	}()
	var out bytes.Buffer
	r := &Relay{Args: []string{os.Args[0]}, Environ: append(os.Environ(), programEnv+"=echo"), In: in, Out: &out,
		Err: io.Discard, Tap: NewTap(o)}
	t.Cleanup(func() { _ = in.Close() })
	testenv.RequireEqual(t, testenv.Must(r.Run())(t), 0)
	r.Tap.Close()
	return out.String(), func() { <-r.Tap.Done() }
}

func TestTapGetsBothDirectionsInTheirOrder(t *testing.T) {
	t.Parallel()
	o := newRecorder()
	close(o.open)
	text := strings.Repeat("a line\n", 100_000)
	got, wait := run(t, o, text)
	testenv.Equal(t, got, text, len(got))
	wait()
	if o.client.String() != text || o.agent.String() != text || o.lost != 0 || o.firstDirection != fromClient {
		t.Errorf("client %d, agent %d, lost %d, first %d", o.client.Len(), o.agent.Len(), o.lost, o.firstDirection)
	}
}

// TestRelayNeverWaitsForObserver blocks the observer until the conversation has ended.
func TestRelayNeverWaitsForObserver(t *testing.T) {
	t.Parallel()
	o := newRecorder()
	text := strings.Repeat("0123456789abcde\n", 3<<20) // three times the queue
	got, wait := run(t, o, text)
	testenv.Equal(t, got, text, len(got))
	close(o.open)
	wait()
	if o.lost == 0 || o.client.Len()+o.agent.Len() > 2*maxQueued {
		t.Errorf("%d losses, %d bytes", o.lost, o.client.Len()+o.agent.Len())
	}
}

func TestFaultOfObserverDoesNotEndConversation(t *testing.T) {
	t.Parallel()
	o := newRecorder()
	o.faulty = true
	close(o.open)
	got, wait := run(t, o, "a\nb\n")
	testenv.Equal(t, got, "a\nb\n")
	wait()
}

func TestTapBoundsPieces(t *testing.T) {
	t.Parallel()
	o := newRecorder()
	tap := NewTap(o)
	for range 1_000_000 {
		tap.offer(fromClient, []byte{'x'})
	}
	tap.mu.Lock()
	n := len(tap.queue)
	tap.mu.Unlock()
	if n > maxQueued/pieceCost+1 {
		t.Errorf("%d pieces", n)
	}
	close(o.open)
	tap.Close()
	<-tap.Done()
	tap.offer(fromClient, []byte("late"))
}
