package rest

import (
	"bytes"
	"net/http"
	"time"

	"github.com/loci-memory/loci/internal/op"
)

// An event may have a name and an id.
type (
	named      interface{ EventName() string }
	identified interface{ EventID() string }
)

// writeWait is how long a client may take to accept one event.
const writeWait = 30 * time.Second

// stream writes events as Server-Sent Events (HTML, section 9.2) until they
// end or the client leaves. An error before the first event is answered like
// any other; one after it can only end the stream, and clients come again.
func (d *door) stream(w http.ResponseWriter, r *http.Request, c *op.Call, events op.Stream) {
	out := http.NewResponseController(w)
	frame := bytes.NewBufferString("retry: 3000\n")
	began := false
	if r.Method == http.MethodHead {
		events = func(func(any, error) bool) {}
	}
	for e, err := range events {
		if err == nil {
			err = frameOf(frame, e)
		}
		if err != nil {
			d.broken(w, r, c, err, began)
			return
		}
		if !began {
			open(w, out, c)
			began = true
		}
		out.SetWriteDeadline(time.Now().Add(writeWait))
		if _, err := w.Write(frame.Bytes()); err != nil || out.Flush() != nil || r.Context().Err() != nil {
			return
		}
		frame.Reset()
	}
	if !began {
		open(w, out, c)
	}
}

// open writes the head of a stream, and takes away the deadlines of a server
// that expects answers to end.
func open(w http.ResponseWriter, out *http.ResponseController, c *op.Call) {
	h := w.Header()
	quota(h, c.Quota)
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out.SetReadDeadline(time.Time{})
}

func (d *door) broken(w http.ResponseWriter, r *http.Request, c *op.Call, err error, began bool) {
	switch {
	case !began:
		d.fail(w, r, c, err)
	case r.Context().Err() == nil:
		d.Log.WarnContext(r.Context(), "stream", "request", c.RequestID, "err", err)
	}
}

// frameOf appends one event. JSON holds no line break, so its data is one line.
func frameOf(b *bytes.Buffer, e any) error {
	if n, ok := e.(named); ok {
		b.WriteString("event: " + n.EventName() + "\n")
	}
	if i, ok := e.(identified); ok && i.EventID() != "" {
		b.WriteString("id: " + i.EventID() + "\n")
	}
	b.WriteString("data: ")
	if err := op.EncodeTo(b, e); err != nil {
		return err
	}
	b.WriteString("\n\n")
	return nil
}
