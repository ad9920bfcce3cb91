package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio serves one client over a pair of pipes, one JSON-RPC message a line,
// until in ends or ctx is done. Nothing but messages is written to out. It
// returns nil at the end of in, after everything asked has been answered. What
// is no message is answered with an error, and the conversation goes on.
//
// A read that waits for in when ctx is done is left waiting: nothing
// interrupts a read of standard input.
func (d *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	p := &stdioTransport{out: out, ctx: ctx, lines: make(chan inputLine), done: make(chan struct{}),
		pending: map[jsonrpc.ID]bool{}}
	p.changed = sync.NewCond(&p.mu)
	defer context.AfterFunc(ctx, p.broadcast)()
	go p.readLines(in)
	err := d.sdkServers[d.Toolset].Run(ctx, p)
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// A stdioTransport is a conversation over stdin and stdout: the transport of the SDK
// ends with the first line that is not JSON, and drops what is unanswered at
// the end of its input.
type stdioTransport struct {
	out       io.Writer
	ctx       context.Context // the SDK does not tell its reader
	lines     chan inputLine
	done      chan struct{} // closed with the conversation
	closeOnce sync.Once

	mu      sync.Mutex          // guards out and what follows
	pending map[jsonrpc.ID]bool // what runs, and whether its answer is still wanted
	closed  bool
	changed *sync.Cond
}

// maxLineBytes is the most bytes of a line: four times the largest body over HTTP, because
// a message from this device costs nobody else memory.
const maxLineBytes = 4 << 20

// A inputLine is what stood on one, without space around it.
type inputLine struct {
	text    []byte
	tooLong bool // it had more than maxLine bytes, and its text is not kept
}

// Connect returns the pipe itself.
func (p *stdioTransport) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID returns nothing: a pipe is its own session.
func (p *stdioTransport) SessionID() string { return "" }

// readLines reads lines until in ends.
func (p *stdioTransport) readLines(in io.Reader) {
	defer close(p.lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		next, err := readLine(r)
		if next.tooLong || len(next.text) > 0 {
			select {
			case p.lines <- next:
			case <-p.done:
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

// Read returns the next message. At the end of the input it waits until all
// that was asked has been answered, for the SDK gives up what is unanswered.
func (p *stdioTransport) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-p.ctx.Done():
			return nil, io.EOF // which ends the calls that still run
		case <-p.done:
			return nil, io.EOF
		case next, ok := <-p.lines:
			if !ok {
				p.waitPending()
				return nil, io.EOF
			}
			if m := p.decodeLine(next); m != nil {
				return m, nil
			}
		}
	}
}

func (p *stdioTransport) waitPending() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pending) > 0 && !p.closed && p.ctx.Err() == nil {
		p.changed.Wait()
	}
}

func (p *stdioTransport) broadcast() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed.Broadcast()
}

// decodeLine reads a line, and answers one that is no message.
func (p *stdioTransport) decodeLine(next inputLine) jsonrpc.Message {
	if next.tooLong {
		p.writeError(nil, -32600, "The message is larger than 4 MiB.")
		return nil
	}
	if code, text := validateMessage(next.text); code != 0 {
		p.writeError(nil, code, text)
		return nil
	}
	m, err := jsonrpc.DecodeMessage(next.text)
	if err != nil {
		p.writeError(next.text, -32600, notAMessage)
		return nil
	}
	q, ok := m.(*jsonrpc.Request)
	switch {
	case ok && q.IsCall() && !p.register(q.ID):
		p.writeError(next.text, -32600, "The id belongs to a request that is still running.")
		return nil
	case ok && q.Method == "notifications/cancelled":
		p.cancel(q.Params)
	}
	return m
}

// register notes a request, unless its id is taken.
func (p *stdioTransport) register(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.pending[id]; taken {
		return false
	}
	p.pending[id] = true
	return true
}

// cancel notes that nobody waits any more for the answer to a request: it may
// have come about all the same, and the protocol asks for silence.
func (p *stdioTransport) cancel(params json.RawMessage) {
	var given struct {
		ID any `json:"requestId"`
	}
	_ = json.Unmarshal(params, &given) // what is malformed names no request
	id, err := jsonrpc.MakeID(given.ID)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, runs := p.pending[id]; err == nil && runs {
		p.pending[id] = false
	}
}

func (p *stdioTransport) writeError(message []byte, code int, text string) {
	_ = p.writeLine(newErrorResponse(message, code, text)) // the next answer meets the same error
}

// Write sends a message, unless it answers what was cancelled.
func (p *stdioTransport) Write(_ context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
	if ok {
		defer p.unregister(r.ID)
		if !p.isWanted(r.ID) {
			return nil
		}
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err == nil {
		err = p.writeLine(translateSDKError(data))
	}
	return err
}

func (p *stdioTransport) isWanted(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted, runs := p.pending[id]
	return wanted || !runs
}

// unregister notes that a request runs no more.
func (p *stdioTransport) unregister(id jsonrpc.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pending, id)
	p.changed.Broadcast()
}

func (p *stdioTransport) writeLine(data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(data, '\n'))
	return err
}

// Close ends the conversation.
func (p *stdioTransport) Close() error {
	p.closeOnce.Do(func() {
		close(p.done)
		p.mu.Lock()
		p.closed = true
		p.changed.Broadcast()
		p.mu.Unlock()
	})
	return nil
}
