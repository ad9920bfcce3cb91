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
func (d *Door) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	p := &pipe{out: out, over: ctx, lines: make(chan line), done: make(chan struct{}), asked: map[jsonrpc.ID]bool{}}
	p.answered = sync.NewCond(&p.mu)
	defer context.AfterFunc(ctx, p.wake)()
	go p.listen(in)
	err := d.sets[d.Toolset].Run(ctx, p)
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// A pipe is a conversation over stdin and stdout: the transport of the SDK
// ends with the first line that is not JSON, and drops what is unanswered at
// the end of its input.
type pipe struct {
	out   io.Writer
	over  context.Context // the SDK does not tell its reader
	lines chan line
	done  chan struct{} // closed with the conversation
	once  sync.Once

	mu       sync.Mutex          // guards out and what follows
	asked    map[jsonrpc.ID]bool // what runs, and whether its answer is still wanted
	closed   bool
	answered *sync.Cond
}

// maxLine is the most bytes of a line: four times the largest body over HTTP, because
// a message from this device costs nobody else memory.
const maxLine = 4 << 20

// A line is what stood on one, without space around it.
type line struct {
	text []byte
	long bool // it had more than maxLine bytes, and its text is not kept
}

// Connect returns the pipe itself.
func (p *pipe) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID returns nothing: a pipe is its own session.
func (p *pipe) SessionID() string { return "" }

// listen reads lines until in ends.
func (p *pipe) listen(in io.Reader) {
	defer close(p.lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		next, err := readLine(r)
		if next.long || len(next.text) > 0 {
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

func readLine(r *bufio.Reader) (line, error) {
	var next line
	for {
		part, err := r.ReadSlice('\n')
		if next.long = next.long || len(next.text)+len(part) > maxLine; next.long {
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
func (p *pipe) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-p.over.Done():
			return nil, io.EOF // which ends the calls that still run
		case <-p.done:
			return nil, io.EOF
		case next, ok := <-p.lines:
			if !ok {
				p.drain()
				return nil, io.EOF
			}
			if m := p.message(next); m != nil {
				return m, nil
			}
		}
	}
}

func (p *pipe) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.asked) > 0 && !p.closed && p.over.Err() == nil {
		p.answered.Wait()
	}
}

func (p *pipe) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered.Broadcast()
}

// message reads a line, and answers one that is no message.
func (p *pipe) message(next line) jsonrpc.Message {
	if next.long {
		p.protest(nil, -32600, "The message is larger than 4 MiB.")
		return nil
	}
	if code, text := mistake(next.text); code != 0 {
		p.protest(nil, code, text)
		return nil
	}
	m, err := jsonrpc.DecodeMessage(next.text)
	if err != nil {
		p.protest(next.text, -32600, noMessage)
		return nil
	}
	q, ok := m.(*jsonrpc.Request)
	switch {
	case ok && q.IsCall() && !p.ask(q.ID):
		p.protest(next.text, -32600, "The id belongs to a request that is still running.")
		return nil
	case ok && q.Method == "notifications/cancelled":
		p.cancel(q.Params)
	}
	return m
}

// ask notes a request, unless its id is taken.
func (p *pipe) ask(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.asked[id]; taken {
		return false
	}
	p.asked[id] = true
	return true
}

// cancel notes that nobody waits any more for the answer to a request: it may
// have come about all the same, and the protocol asks for silence.
func (p *pipe) cancel(params json.RawMessage) {
	var given struct {
		ID any `json:"requestId"`
	}
	_ = json.Unmarshal(params, &given) // what is malformed names no request
	id, err := jsonrpc.MakeID(given.ID)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, runs := p.asked[id]; err == nil && runs {
		p.asked[id] = false
	}
}

func (p *pipe) protest(message []byte, code int, text string) {
	_ = p.write(newFailure(message, code, text)) // the next answer meets the same error
}

// Write sends a message, unless it answers what was cancelled.
func (p *pipe) Write(_ context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
	if ok {
		defer p.finish(r.ID)
		if !p.wanted(r.ID) {
			return nil
		}
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err == nil {
		err = p.write(reword(data))
	}
	return err
}

func (p *pipe) wanted(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted, runs := p.asked[id]
	return wanted || !runs
}

// finish notes that a request runs no more.
func (p *pipe) finish(id jsonrpc.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, id)
	p.answered.Broadcast()
}

func (p *pipe) write(data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(data, '\n'))
	return err
}

// Close ends the conversation.
func (p *pipe) Close() error {
	p.once.Do(func() {
		close(p.done)
		p.mu.Lock()
		p.closed = true
		p.answered.Broadcast()
		p.mu.Unlock()
	})
	return nil
}
