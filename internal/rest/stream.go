package rest

import (
	"bytes"
	"net/http"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// An event may have a name and an id.
type (
	eventNamer      interface{ EventName() string }
	eventIdentifier interface{ EventID() string }
)

// writeTimeout is how long a client may take to accept one event.
const writeTimeout = 30 * time.Second

// writeStream writes events as Server-Sent Events (HTML, section 9.2) until they
// end or the client leaves. An error before the first event is answered like
// any other; one after it can only end the stream, and clients come again.
func (d *handler) writeStream(w http.ResponseWriter, r *http.Request, c *op.Call, events op.Stream) {
	out := http.NewResponseController(w)
	frame := bytes.NewBufferString("retry: 3000\n")
	started := false
	if r.Method == http.MethodHead {
		events = func(func(any, error) bool) {}
	}
	for e, err := range events {
		if err == nil {
			err = appendEvent(frame, e)
		}
		if err != nil {
			d.streamFailed(w, r, c, err, started)
			return
		}
		if !started {
			openStream(w, out, c)
			started = true
		}
		out.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(frame.Bytes()); err != nil || out.Flush() != nil || r.Context().Err() != nil {
			return
		}
		frame.Reset()
	}
	if !started {
		openStream(w, out, c)
	}
}

// openStream writes the head of a stream, and takes away the deadlines of a server
// that expects answers to end.
func openStream(w http.ResponseWriter, out *http.ResponseController, c *op.Call) {
	h := w.Header()
	httpapi.SetQuotaHeaders(h, c.Quota)
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out.SetReadDeadline(time.Time{})
}

func (d *handler) streamFailed(w http.ResponseWriter, r *http.Request, c *op.Call, err error, started bool) {
	switch {
	case !started:
		httpapi.WriteError(w, r, c.Quota, err)
	case r.Context().Err() == nil:
		d.Log.WarnContext(r.Context(), "stream", "request", c.RequestID, "err", err)
	}
}

// appendEvent appends one event. JSON holds no line break, so its data is one line.
func appendEvent(b *bytes.Buffer, e any) error {
	if n, ok := e.(eventNamer); ok {
		b.WriteString("event: " + n.EventName() + "\n")
	}
	if i, ok := e.(eventIdentifier); ok && i.EventID() != "" {
		b.WriteString("id: " + i.EventID() + "\n")
	}
	data, err := op.Encode(e)
	b.WriteString("data: " + string(data) + "\n\n")
	return err
}
