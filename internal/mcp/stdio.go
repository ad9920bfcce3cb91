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
	p := &pipe{out: out, lines: make(chan []byte), done: make(chan struct{}), asked: map[jsonrpc.ID]bool{}}
	p.answered = sync.NewCond(&p.mu)
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
	lines chan []byte   // a nil line was too long
	done  chan struct{} // closed with the conversation
	once  sync.Once

	mu       sync.Mutex // guards out and what follows
	asked    map[jsonrpc.ID]bool
	closed   bool
	answered *sync.Cond
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
		line, err := readLine(r)
		if line != nil || err == nil {
			select {
			case p.lines <- line:
			case <-p.done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine returns the next line, or nil for one that is longer than MaxBody.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, long := []byte{}, false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > MaxBody; !long {
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long {
			return nil, err
		}
		return bytes.TrimSpace(line), err
	}
}

// Read returns the next message. At the end of the input it waits until all
// that was asked has been answered, for the SDK gives up what is unanswered.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.done:
			return nil, io.EOF
		case line, ok := <-p.lines:
			if !ok {
				p.drain()
				return nil, io.EOF
			}
			if m := p.message(line); m != nil {
				return m, nil
			}
		}
	}
}

func (p *pipe) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.asked) > 0 && !p.closed {
		p.answered.Wait()
	}
}

// message reads a line, and answers one that is no message.
func (p *pipe) message(line []byte) jsonrpc.Message {
	switch {
	case line == nil:
		p.protest(nil, -32600, "The message is larger than 4 MiB.")
	case len(line) == 0:
	case !json.Valid(line):
		p.protest(nil, -32700, "The line is not valid JSON.")
	default:
		m, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			p.protest(line, -32600, "The line is no message: batches are not supported, and a request has jsonrpc, id and method.")
			return nil
		}
		if q, ok := m.(*jsonrpc.Request); ok && q.IsCall() && !p.ask(q.ID) {
			p.protest(line, -32600, "The id belongs to a request that is still running.")
			return nil
		}
		return m
	}
	return nil
}

// ask notes a request, unless its id is taken.
func (p *pipe) ask(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[id] {
		return false
	}
	p.asked[id] = true
	return true
}

func (p *pipe) protest(line []byte, code int, text string) {
	_ = p.write(newFailure(line, code, text)) // the next answer meets the same error
}

// Write sends a message.
func (p *pipe) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err == nil {
		err = p.write(data)
	}
	if r, ok := m.(*jsonrpc.Response); ok {
		p.mu.Lock()
		delete(p.asked, r.ID)
		p.answered.Broadcast()
		p.mu.Unlock()
	}
	return err
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
