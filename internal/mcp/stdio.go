package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// Stdio serves one client over a pair of pipes, one JSON-RPC message or batch a line, until in ends or ctx is done.
// Nothing but messages is written to out. At the end of in every pending request is answered first. A line that is no
// message is answered with an error, and the conversation goes on.
//
// A read of in that is under way when ctx is done is abandoned: nothing interrupts a read of standard input.
func (d *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &stdioConn{server: d, out: out, pending: map[string]*pendingRequest{}, ended: make(chan struct{})}
	defer c.running.Wait()
	lines := make(chan inputLine)
	go readLines(ctx, in, lines)
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				close(c.ended)
				c.running.Wait() // before the requests are cancelled
				return nil
			}
			c.handleLine(ctx, line)
		}
	}
}

// A stdioConn is one conversation. Its requests run side by side.
type stdioConn struct {
	server      *Server
	running     sync.WaitGroup
	initialized bool          // of the one goroutine that reads, as is the revision
	revision    string        // that the client asked for
	ended       chan struct{} // closed at the end of the input

	mu      sync.Mutex // guards out and pending
	out     io.Writer
	pending map[string]*pendingRequest // by id
}

// A pendingRequest has no response yet.
type pendingRequest struct {
	cancel    context.CancelFunc
	cancelled bool // by the client, which expects no response then
}

// maxLineBytes is the most bytes of a line: four times the largest body over HTTP, because
// a message from this device costs nobody else memory.
const maxLineBytes = 4 << 20

// An inputLine is one line without space around it.
type inputLine struct {
	text    []byte
	tooLong bool // it had more than maxLineBytes, and its text is not kept
}

// readLines reads lines until in ends.
func readLines(ctx context.Context, in io.Reader, lines chan<- inputLine) {
	defer close(lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		next, err := readLine(r)
		if next.tooLong || len(next.text) > 0 {
			select {
			case lines <- next:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func readLine(r *bufio.Reader) (inputLine, error) {
	var next inputLine
	for {
		part, err := r.ReadSlice('\n')
		if next.tooLong = next.tooLong || len(next.text)+len(part) > maxLineBytes; next.tooLong {
			next.text = nil
		} else {
			next.text = append(next.text, part...)
		}
		if err != bufio.ErrBufferFull {
			next.text = bytes.TrimSpace(next.text)
			return next, err
		}
	}
}

// handleLine answers a line, or starts the request in it.
func (c *stdioConn) handleLine(ctx context.Context, line inputLine) {
	if line.tooLong {
		c.write(encodeResponse(nil, nil, invalidRequest(nil, "The message is larger than 4 MiB.")))
		return
	}
	batch, failed := splitBatch(line.text, c.revision)
	switch {
	case failed != nil:
		c.write(encodeResponse(nil, nil, failed))
	case batch != nil:
		c.handleBatch(ctx, batch)
	default:
		c.handleMessage(ctx, line.text, responder{c.write, c.running.Go})
	}
}

// A responder runs the requests of a line, and writes their responses.
type responder struct {
	write func(response []byte)
	run   func(request func())
}

// handleBatch runs the requests of a batch one after another, and answers with an array.
func (c *stdioConn) handleBatch(ctx context.Context, batch [][]byte) {
	var out []byte
	var requests []func()
	for _, text := range batch {
		c.handleMessage(ctx, text, responder{
			func(response []byte) { out = append(append(out, ','), response...) },
			func(request func()) { requests = append(requests, request) }})
	}
	c.running.Go(func() {
		for _, run := range requests {
			run()
		}
		if out != nil {
			out[0] = '['
			c.write(append(out, ']'))
		}
	})
}

// handleMessage answers a message, or starts the request in it.
func (c *stdioConn) handleMessage(ctx context.Context, text []byte, a responder) {
	m, failed := parseMessage(text)
	switch {
	case failed != nil && m != nil && m.method != "" && m.id() == nil: // a request without an id expects no response
	case failed != nil:
		a.write(encodeResponse(failed.id, nil, failed))
	case m.method == "notifications/cancelled":
		c.cancel(m.params["requestId"])
	case m.method != "" && !m.isNotification():
		c.start(ctx, &exchange{message: m, set: c.server.Toolset, stream: c,
			call: &op.Call{Transport: op.TransportMCP, RequestID: string(loci.NewID(time.Now())),
				ActorHeader: c.server.ActorHeader}}, a)
	}
}

// start answers a request, beside those that are running. A handshake is over before the next message is read.
func (c *stdioConn) start(ctx context.Context, x *exchange, a responder) {
	ctx, cancel := context.WithCancel(ctx)
	r, failed := c.register(x, cancel)
	if failed != nil {
		cancel()
		a.write(encodeResponse(x.id(), nil, failed))
		return
	}
	if x.method == "initialize" {
		if c.answer(ctx, x, r, a) {
			c.initialized = true
			c.revision, _ = text(x.params["protocolVersion"])
		}
		return
	}
	a.run(func() { c.answer(ctx, x, r, a) })
}

// register notes a request as pending, or refuses it.
func (c *stdioConn) register(x *exchange, cancel context.CancelFunc) (*pendingRequest, *rpcError) {
	isHandshake := x.method == "initialize"
	switch {
	case x.isStateless() || x.method == "ping":
	case isHandshake && c.initialized:
		return nil, invalidRequest(nil, "The conversation has begun already: initialize is sent once.")
	case !isHandshake && !c.initialized && methods[x.method].handshake:
		return nil, invalidRequest(nil, "The conversation has not begun: send initialize first.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := string(x.id())
	if c.pending[id] != nil {
		return nil, invalidRequest(nil, "The id belongs to a request that is still running.")
	}
	c.pending[id] = &pendingRequest{cancel: cancel}
	return c.pending[id], nil
}

// cancel cancels a pending request. An id that names none has no effect.
func (c *stdioConn) cancel(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.pending[string(id)]; r != nil {
		r.cancelled = true
		r.cancel()
	}
}

// answer writes the response to a request, unless it was cancelled, and reports whether the request succeeded.
func (c *stdioConn) answer(ctx context.Context, x *exchange, r *pendingRequest, a responder) bool {
	result, failed := c.server.handle(ctx, x)
	r.cancel()
	c.mu.Lock()
	delete(c.pending, string(x.id()))
	cancelled := r.cancelled
	c.mu.Unlock()
	if !cancelled {
		a.write(encodeResponse(x.id(), result, failed))
	}
	return failed == nil
}

func (c *stdioConn) send(message []byte) error {
	c.write(message)
	return nil
}

func (c *stdioConn) keepAlive() error { return nil } // a pipe needs none

func (c *stdioConn) closing() <-chan struct{} { return c.ended }

func (c *stdioConn) write(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.out.Write(append(text, '\n')) // a client that has left ends its side of the input too
}
