package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// A responseWriter gathers an answer until it is whole. It adds the quota, which is known
// once the tool has run, and says in JSON-RPC what the SDK says in plain text.
// Events alone are written as they come.
type responseWriter struct {
	http.ResponseWriter
	call           *op.Call
	status         int
	body           []byte
	isStream       bool        // it writes events
	mayHaveWritten atomic.Bool // a tool ran that may have written: nothing shows again what it answers
}

// FlushError sends events on. Any other answer is not written yet.
func (w *responseWriter) FlushError() error {
	if !w.isStream {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives the writer to http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *responseWriter) WriteHeader(status int) {
	w.status = status
	if w.isStream = w.hasContentType("text/event-stream"); w.isStream {
		httpapi.SetQuotaHeaders(w.Header(), w.call.Quota)
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *responseWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.isStream {
		_, err := w.ResponseWriter.Write(translateEvent(p))
		return len(p), err
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

func (w *responseWriter) hasContentType(prefix string) bool {
	return strings.HasPrefix(w.Header().Get("Content-Type"), prefix)
}

// translateEvent returns an event with the error that it tells in plain words.
func translateEvent(p []byte) []byte {
	const mark, end = "\ndata: ", "\n\n"
	if !bytes.HasPrefix(p, []byte("event: ")) {
		return p
	}
	head, data, _ := bytes.Cut(p, []byte(mark))
	return slices.Concat(head, []byte(mark), translateSDKError(bytes.TrimSuffix(data, []byte(end))), []byte(end))
}

// translateSDKResponse puts what the SDK has said about a message in plain words. An unknown
// method is an error of the message and not of the request; an unknown notification
// is none.
func (w *responseWriter) translateSDKResponse(message []byte) {
	text := strings.TrimSpace(string(w.body))
	switch {
	case w.isStream:
	case w.status < 400 || !w.hasContentType("text/plain"):
		w.body = translateSDKError(w.body)
	case !strings.HasPrefix(text, "JSON RPC not handled"):
		code, text := sdkErrorMessage(-32600, text)
		w.setError(w.status, message, code, text)
	case messageID(message) == nil:
		w.Header().Del("Content-Type")
		w.status, w.body = http.StatusAccepted, nil
	default:
		w.setError(http.StatusOK, message, -32601, "There is no such method.")
	}
}

// setError makes the answer an error of JSON-RPC.
func (w *responseWriter) setError(status int, message []byte, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.status, w.body = status, newErrorResponse(message, code, text)
}

// writeResponse writes the answer, as one of those that its reader has not taken yet.
func (w *responseWriter) writeResponse(ctx context.Context, f *httpapi.ResponseLimiter) error {
	if w.isStream {
		return nil
	}
	end, err := f.Acquire(ctx, w.call.UserID, len(w.body), !w.mayHaveWritten.Load())
	if err != nil {
		return err
	}
	defer end()
	httpapi.SetQuotaHeaders(w.Header(), w.call.Quota)
	if w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
	_, _ = w.ResponseWriter.Write(w.body) // a client that has left is told nothing
	return nil
}

// A errorResponse is an error response of JSON-RPC 2.0 (section 5.1). Where the id of
// the request is not known it is null.
type errorResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`

		Data json.RawMessage `json:"data,omitempty"`
	} `json:"error"`
}

func newErrorResponse(message []byte, code int, text string) []byte {
	f := errorResponse{ID: messageID(message)}
	f.Error.Code, f.Error.Message = code, text
	return f.encode()
}

func (f *errorResponse) encode() []byte {
	f.Version = "2.0"
	out, _ := json.Marshal(f) // an id that was just read is valid
	return out
}
