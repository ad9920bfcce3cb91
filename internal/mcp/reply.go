package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// A reply gathers an answer until it is whole. It adds the quota, which is known
// once the tool has run, and says in JSON-RPC what the SDK says in plain text.
// Events alone are written as they come.
type reply struct {
	http.ResponseWriter
	call    *op.Call
	status  int
	body    []byte
	streams bool        // it writes events
	writes  atomic.Bool // a tool ran that may have written: nothing shows again what it answers
}

// FlushError sends events on. Any other answer is not written yet.
func (w *reply) FlushError() error {
	if !w.streams {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives the writer to http.ResponseController.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *reply) WriteHeader(status int) {
	w.status = status
	if w.streams = w.contentType("text/event-stream"); w.streams {
		quota(w.Header(), w.call)
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *reply) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.streams {
		_, err := w.ResponseWriter.Write(rewordEvent(p))
		return len(p), err
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

func (w *reply) contentType(prefix string) bool {
	return strings.HasPrefix(w.Header().Get("Content-Type"), prefix)
}

// rewordEvent returns an event with the error that it tells in plain words.
func rewordEvent(p []byte) []byte {
	const mark, end = "\ndata: ", "\n\n"
	if !bytes.HasPrefix(p, []byte("event: ")) {
		return p
	}
	head, data, _ := bytes.Cut(p, []byte(mark))
	return slices.Concat(head, []byte(mark), reword(bytes.TrimSuffix(data, []byte(end))), []byte(end))
}

// translate puts what the SDK has said about a message in plain words. An unknown
// method is an error of the message and not of the request; an unknown notification
// is none.
func (w *reply) translate(message []byte) {
	text := strings.TrimSpace(string(w.body))
	switch {
	case w.streams:
	case w.status < 400 || !w.contentType("text/plain"):
		w.body = reword(w.body)
	case !strings.HasPrefix(text, "JSON RPC not handled"):
		code, text := inWords(-32600, text)
		w.fail(w.status, message, code, text)
	case identity(message) == nil:
		w.Header().Del("Content-Type")
		w.status, w.body = http.StatusAccepted, nil
	default:
		w.fail(http.StatusOK, message, -32601, "There is no such method.")
	}
}

// fail makes the answer an error of JSON-RPC.
func (w *reply) fail(status int, message []byte, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.status, w.body = status, newFailure(message, code, text)
}

// send writes the answer, as one of those that its reader has not taken yet.
func (w *reply) send(ctx context.Context, f *httpapi.Flow) error {
	if w.streams {
		return nil
	}
	end, err := f.Begin(ctx, w.call.UserID, len(w.body), !w.writes.Load())
	if err != nil {
		return err
	}
	defer end()
	quota(w.Header(), w.call)
	if w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
	_, _ = w.ResponseWriter.Write(w.body) // a client that has left is told nothing
	return nil
}

// A failure is an error response of JSON-RPC 2.0 (section 5.1). Where the id of
// the request is not known it is null.
type failure struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`

		Data json.RawMessage `json:"data,omitempty"`
	} `json:"error"`
}

func newFailure(message []byte, code int, text string) []byte {
	f := failure{ID: identity(message)}
	f.Error.Code, f.Error.Message = code, text
	return f.bytes()
}

func (f *failure) bytes() []byte {
	f.Version = "2.0"
	out, _ := json.Marshal(f) // an id that was just read is valid
	return out
}

// quota writes the state of the caller's operations.
func quota(h http.Header, c *op.Call) {
	if q := c.Quota; q != nil {
		h.Set("RateLimit-Limit", strconv.FormatInt(q.Limit, 10))
		h.Set("RateLimit-Remaining", strconv.FormatInt(q.Remaining, 10))
		h.Set("RateLimit-Reset", seconds(q.Reset))
	}
}

// retry writes how long to wait before the next try.
func retry(h http.Header, err error) {
	if e := loci.AsError(err); e.Retry > 0 {
		h.Set("Retry-After", seconds(e.Retry))
	}
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64(math.Ceil(d.Seconds()))), 10)
}
