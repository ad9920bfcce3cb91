package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/limit"
)

// A testServer is a server whose shutdown a test controls. Its handler holds calls of /held until release.
type testServer struct {
	address              string
	drain, stop, release context.CancelFunc // begins the drain, ends it, and ends the held calls
	held                 chan struct{}      // receives for each held call
	seen                 sync.Map           // paths that the handler has seen
	ended                chan error
}

func startServer(t *testing.T, connections int, finish time.Duration) *testServer {
	t.Helper()
	l, err := TCP(t.Context(), "127.0.0.1:0", "listen")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{address: l.Addr().String(), held: make(chan struct{}, 1), ended: make(chan error, 1)}
	var draining, closing, released context.Context
	draining, s.drain = context.WithCancel(t.Context())
	closing, s.stop = context.WithCancel(t.Context())
	released, s.release = context.WithCancel(t.Context())
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seen.Store(r.URL.Path, true)
		if user := r.Header.Get("Authorization"); user != "" {
			limit.Prove(r.Context(), limit.User(user))
		}
		if _, err := io.ReadAll(r.Body); err != nil && !strings.HasPrefix(r.URL.Path, "/slow/") {
			t.Error(err)
		}
		if r.URL.Path == "/held" {
			s.held <- struct{}{}
			select {
			case <-released.Done():
			case <-r.Context().Done():
			}
		}
		if r.URL.Path == "/large" {
			_, _ = w.Write(make([]byte, 64<<20)) // no buffer of the system holds so much
			return
		}
		fmt.Fprint(w, "answer")
	})
	go func() {
		s.ended <- serve(draining, closing, l, connections, nil, handler, slog.New(slog.DiscardHandler), finish)
	}()
	return s
}

// shutDown ends the drain, and returns once the server refuses connections.
func (s *testServer) shutDown() {
	s.drain()
	s.stop()
	for c, err := s.dial(); !errors.Is(err, syscall.ECONNREFUSED); c, err = s.dial() {
		if err == nil {
			c.Close()
		}
	}
}

// A testConn is a connection of a client that repeats no request.
type testConn struct {
	net.Conn
	in *bufio.Reader
}

func (s *testServer) dial() (*testConn, error) {
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, err
	}
	return &testConn{c, bufio.NewReader(c)}, nil
}

func (s *testServer) mustDial(t *testing.T) *testConn {
	t.Helper()
	c, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// call sends a request, and reports whether the answer closes the connection.
func (c *testConn) call(path string) (closes bool, err error) {
	if err := c.send(path, "{}"); err != nil {
		return false, err
	}
	return c.answer()
}

// send sends a request with a body of two bytes, or the beginning of one.
func (c *testConn) send(path, body string) error {
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: loci.test\r\nContent-Length: 2\r\n\r\n%s", path, body)
	return err
}

func (c *testConn) answer() (closes bool, err error) {
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return false, err
	}
	body, err := io.ReadAll(res.Body)
	if err == nil && string(body) != "answer" {
		err = fmt.Errorf("%d %q", res.StatusCode, body)
	}
	return res.Close, err
}

// A testPool is clients that send calls, on connections that they keep alive, until the server refuses them.
type testPool struct {
	server            *testServer
	draining, stopped atomic.Bool // set after the drain began, and before it ends
	before, during    sync.WaitGroup
	clients           sync.WaitGroup
}

const callsOfPhase = 3

func (p *testPool) run(t *testing.T, client int) {
	before, during := sync.OnceFunc(p.before.Done), sync.OnceFunc(p.during.Done)
	defer before()
	defer during()
	for n, drained := 0, 0; ; {
		c, err := p.server.dial()
		for closes := false; err == nil && !closes; n++ {
			path, drains := fmt.Sprintf("/%d/%d", client, n), p.draining.Load()
			if closes, err = c.call(path); err != nil {
				if _, seen := p.server.seen.Load(path); seen {
					t.Errorf("the accepted call %s is lost: %v", path, err)
				}
				break
			}
			if n == callsOfPhase {
				before()
			}
			if drains {
				if drained++; drained == callsOfPhase {
					during()
				}
				if !closes {
					t.Errorf("call %s keeps its connection alive during the drain", path)
				}
			}
		}
		if c != nil {
			c.Close()
		}
		if err != nil {
			if !p.stopped.Load() {
				t.Errorf("client %d is refused: %v", client, err)
			}
			return
		}
	}
}

// TestShutdownFinishesAcceptedRequests sends calls through a whole shutdown. None fails before the drain ends, and none
// that the server has accepted fails at all.
func TestShutdownFinishesAcceptedRequests(t *testing.T) {
	t.Parallel()
	p := &testPool{server: startServer(t, maxConnections, time.Hour)}
	for i := range 16 {
		p.before.Add(1)
		p.during.Add(1)
		p.clients.Go(func() { p.run(t, i) })
	}
	p.before.Wait()
	p.server.drain()
	p.draining.Store(true)
	p.during.Wait()
	p.stopped.Store(true)
	p.server.stop()
	if err := <-p.server.ended; err != nil {
		t.Error(err)
	}
	p.clients.Wait()
}

// TestShutdownAnswersFirstRequests closes the listener while a connection has sent nothing yet, as a proxy's whose
// request is on its way.
func TestShutdownAnswersFirstRequests(t *testing.T) {
	t.Parallel()
	s := startServer(t, maxConnections, time.Hour)
	first, later := s.mustDial(t), s.mustDial(t)
	if _, err := later.call("/later"); err != nil { // the server has accepted both
		t.Fatal(err)
	}
	s.shutDown()
	if closes, err := first.call("/first"); err != nil || !closes {
		t.Errorf("the answer closes its connection: %t, %v", closes, err)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// TestShutdownFinishesSlowCalls ends the drain while one call runs, and another one has sent half of its body.
func TestShutdownFinishesSlowCalls(t *testing.T) {
	t.Parallel()
	s := startServer(t, maxConnections, time.Hour)
	slow, half := s.mustDial(t), s.mustDial(t)
	if err := errors.Join(slow.send("/held", "{}"), half.send("/half", "{")); err != nil {
		t.Fatal(err)
	}
	<-s.held
	for seen := false; !seen; time.Sleep(time.Millisecond) {
		_, seen = s.seen.Load("/half")
	}
	s.shutDown()
	select {
	case err := <-s.ended:
		t.Fatal("the server ends before its calls: ", err)
	default:
	}
	if _, err := half.Write([]byte("}")); err != nil {
		t.Fatal(err)
	}
	s.release()
	for name, c := range map[string]*testConn{"slow": slow, "half": half} {
		if _, err := c.answer(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// TestShutdownCutsCallsOff ends a server whose call does not end.
func TestShutdownCutsCallsOff(t *testing.T) {
	t.Parallel()
	s := startServer(t, maxConnections, time.Millisecond)
	c := s.mustDial(t)
	if err := c.send("/held", "{}"); err != nil {
		t.Fatal(err)
	}
	<-s.held
	s.shutDown()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	if _, err := c.answer(); err == nil {
		t.Error("the call is answered")
	}
}
