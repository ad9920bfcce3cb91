package relay

import (
	"io"
	"time"
)

// bufferSize is that of a pipe on Linux: a larger one is never filled by one read.
const bufferSize = 64 << 10

// copyIn copies from the client until either end. Then the program's stdin ends.
func (p *process) copyIn(r *Relay) {
	defer p.in.Close()
	buf := make([]byte, bufferSize)
	for {
		n, err := r.In.Read(buf)
		if n > 0 && !r.pass(fromClient, p.in, buf[:n]) {
			closeStream(r.In)
			return
		}
		if err != nil {
			return
		}
	}
}

// copyOut copies to the client until either end. After the program's end it copies what the pipe holds.
func (p *process) copyOut(r *Relay) {
	defer close(p.outDone)
	defer closeStream(r.Out)
	defer p.out.Close()
	buf := make([]byte, bufferSize)
	for {
		if p.gone.Load() {
			_ = p.out.SetReadDeadline(time.Now().Add(drainTime)) // the client may have been slow
		}
		n, err := p.out.Read(buf)
		if n > 0 && !r.pass(fromAgent, r.Out, buf[:n]) || err != nil {
			return
		}
	}
}

// pass hands data to the tap and writes it. The tap is first: so it gets a request before the response to it.
func (r *Relay) pass(d direction, to io.Writer, data []byte) bool {
	if r.Tap != nil {
		r.Tap.offer(d, data)
	}
	_, err := to.Write(data)
	return err == nil
}

// closeStream closes a stream that can be closed.
func closeStream(s any) {
	if c, ok := s.(io.Closer); ok {
		_ = c.Close() // the other side sees it, or is gone
	}
}
