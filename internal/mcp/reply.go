package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// A reply writes the SDK's answer. It adds the quota, which is known once the
// tool has run, and says in JSON-RPC what the SDK says in plain text.
type reply struct {
	http.ResponseWriter
	call   *op.Call
	body   []byte // of the request
	status int
	plain  bool
}

// Unwrap gives the writer to http.ResponseController, which flushes streams.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *reply) WriteHeader(status int) {
	w.status = status
	quota(w.Header(), w.call)
	if w.plain = status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"); !w.plain {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *reply) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.plain {
		if _, err := w.ResponseWriter.Write(w.reword(p)); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	w.protest(strings.TrimSpace(string(p)))
	return len(p), nil
}

// reword returns an answer with its error in plain words, also where it is
// what an event tells.
func (w *reply) reword(p []byte) []byte {
	if !bytes.HasPrefix(p, []byte("event: ")) {
		return reword(p)
	}
	const mark, end = "\ndata: ", "\n\n"
	head, data, _ := bytes.Cut(p, []byte(mark))
	return slices.Concat(head, []byte(mark), reword(bytes.TrimSuffix(data, []byte(end))), []byte(end))
}

// protest answers what the SDK refused with a text. An unknown method is an
// error of the message and not of the request; an unknown notification is none.
func (w *reply) protest(text string) {
	switch {
	case !strings.HasPrefix(text, "JSON RPC not handled"):
		code, text := inWords(-32600, text)
		protest(w.ResponseWriter, w.status, w.body, code, text)
	case identity(w.body) == nil:
		w.Header().Del("Content-Type")
		w.ResponseWriter.WriteHeader(http.StatusAccepted)
	default:
		protest(w.ResponseWriter, http.StatusOK, w.body, -32601, "There is no such method.")
	}
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

func protest(w http.ResponseWriter, status int, message []byte, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(newFailure(message, code, text)) // a client that has left is told nothing
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
