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
	encodedEvent    interface{ Encoding() []byte } // nil: not encoded yet
)

// serveStream writes events as Server-Sent Events (HTML, section 9.2). An error before the first event is a usual error
// response. A later one can only end the stream, and clients reconnect.
func (d *handler) serveStream(w http.ResponseWriter, r *http.Request, o *op.Op, c *op.Call,
	args func() (op.Args, error)) {
	s := &eventWriter{w: w, call: c}
	if r.Method != http.MethodHead {
		c.Send = s.send
	}
	_, err := d.Host.Run(r.Context(), o, c, args)
	switch {
	case s.opened:
	case err != nil:
		httpapi.WriteError(w, r, c.Quota, err)
	default:
		s.open()
	}
}

// An eventWriter writes the events of a call.
type eventWriter struct {
	w      http.ResponseWriter
	call   *op.Call
	opened bool
}

// open writes the head of a stream, and removes the deadline of a server that expects requests to end.
func (s *eventWriter) open() {
	s.opened = true
	h := s.w.Header()
	httpapi.SetQuotaHeaders(h, s.call.Quota)
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	http.NewResponseController(s.w).SetReadDeadline(time.Time{})
}

// send writes one event. JSON holds no line break, so its data is one line.
func (s *eventWriter) send(event any) (more bool, err error) {
	var data []byte
	if e, ok := event.(encodedEvent); ok {
		data = e.Encoding()
	}
	if data == nil {
		if data, err = op.Marshal(event); err != nil {
			return false, err
		}
	}
	var b bytes.Buffer
	if !s.opened {
		s.open()
		b.WriteString("retry: 3000\n")
	}
	if n, ok := event.(eventNamer); ok {
		b.WriteString("event: " + n.EventName() + "\n")
	}
	if i, ok := event.(eventIdentifier); ok && i.EventID() != "" {
		b.WriteString("id: " + i.EventID() + "\n")
	}
	b.WriteString("data: ")
	for _, part := range [][]byte{b.Bytes(), data, []byte("\n\n")} { // without a copy of a long event
		if _, err := s.w.Write(part); err != nil {
			return false, nil
		}
	}
	return http.NewResponseController(s.w).Flush() == nil, nil
}
