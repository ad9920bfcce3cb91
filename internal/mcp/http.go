package mcp

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// Routes returns the routes of the transport: /mcp and /mcp/ are one.
func (d *Server) Routes() []httpapi.Route {
	h, reason := d.HTTP(), "it speaks another protocol, in which operations are tools"
	return []httpapi.Route{{Pattern: "/mcp", Handler: h, Reason: reason},
		{Pattern: "/mcp/{$}", Handler: h, Reason: reason}}
}

// HTTP returns the transport Streamable HTTP: stateless, a JSON response for each POST. A refused caller gets the
// same error as on every other route. A faulty message gets an error of JSON-RPC. A response is complete
// before its first byte is written, so that a slow reader keeps no request in memory.
func (d *Server) HTTP() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpapi.InitHeaders(w, r)
		c := d.newCall(w, r)
		if err := d.serveHTTP(w, r, c); err != nil {
			d.setChallenge(w.Header(), err)
			httpapi.WriteError(w, r, c.Quota, err)
		}
	})
}

// setChallenge tells a refused client where tokens come from (RFC 9728, section 5.1). Only a client that sent a
// credential learns that it is invalid (RFC 6750, section 3.1).
func (d *Server) setChallenge(h http.Header, err error) {
	e := loci.AsError(err)
	if d.ResourceMetadataURL == "" || e.Code.Status() != http.StatusUnauthorized {
		return
	}
	challenge := `Bearer resource_metadata="` + d.ResourceMetadataURL + `", scope="mcp"`
	if e.Code == loci.CodeInvalidKey {
		challenge += `, error="invalid_token"`
	}
	h.Set("Www-Authenticate", challenge)
}

func (d *Server) serveHTTP(w http.ResponseWriter, r *http.Request, c *op.Call) error {
	set, err := d.admit(w, r, c)
	if err != nil {
		return err
	}
	out, err := d.respond(w, r, set, c)
	if err != nil || out.sent {
		return err
	}
	release, err := d.ResponseLimiter.Acquire(r.Context(), c.UserID, len(out.body), out.repeatable)
	if err != nil {
		return err
	}
	defer release()
	h := w.Header()
	httpapi.SetQuotaHeaders(h, c.Quota)
	if len(out.body) > 0 {
		h.Set("Content-Type", out.contentType)
	}
	w.WriteHeader(out.status)
	_, _ = w.Write(out.body) // a client that has left reads nothing
	return nil
}

// A response is what is written for a message.
type response struct {
	status      int
	contentType string
	body        []byte
	repeatable  bool // the client can ask again
	sent        bool // at the end of a stream
}

func errorResponse(status int, e *rpcError) response {
	return response{status: status, contentType: "application/json", body: encodeResponse(e.id, nil, e),
		repeatable: true}
}

// respond reads a message or a batch and makes the response to it.
func (d *Server) respond(w http.ResponseWriter, r *http.Request, set op.Toolset, c *op.Call) (response, error) {
	body, err := d.BodyLimiter.ReadBody(w, r, c.UserID, httpapi.MaxBody)
	if err != nil {
		return response{}, err
	}
	body = httpapi.TrimBOM(body)
	batch, failed := splitBatch(body, cmp.Or(headerValue(r.Header, "Mcp-Protocol-Version"), batchRevision))
	switch {
	case failed != nil:
		return errorResponse(http.StatusBadRequest, failed), nil
	case batch != nil:
		return d.respondToBatch(w, r, set, c, batch), nil
	}
	m, failed := parseMessage(body)
	if failed != nil {
		return errorResponse(http.StatusBadRequest, failed), nil
	}
	return d.respondTo(w, r, set, c, m)
}

// maxBatchBytes is how long the answers to a batch become before the rest of it is refused.
const maxBatchBytes = 1 << 20

// respondToBatch answers the messages of a batch one after another. Each is admitted and charged as if it came alone.
func (d *Server) respondToBatch(w http.ResponseWriter, r *http.Request, set op.Toolset, c *op.Call,
	batch [][]byte) response {
	out := response{status: http.StatusAccepted, repeatable: true}
	for i, text := range batch {
		call := c // is admitted
		m, failed := parseMessage(text)
		switch {
		case failed != nil:
		case m.method == "initialize":
			failed = invalidRequest(m.id(), "A batch comes after initialize: send that alone.")
		case len(out.body) > maxBatchBytes:
			failed = invalidRequest(m.id(), "The answers to the batch are too long: send this message again.")
		case i > 0:
			call = d.newCall(w, r)
			if err := d.Authenticate(r.Context(), call); err != nil {
				failed = operationError(err, call)
				failed.id = m.id()
			}
			c.Quota = cmp.Or(call.Quota, c.Quota)
		}
		one := response{repeatable: true}
		switch {
		case failed == nil:
			one, _ = d.respondTo(w, r, set, call, m) // only a stream fails, and a batch has none
		case m == nil || !m.isNotification():
			one = errorResponse(http.StatusOK, failed)
		}
		if out.repeatable = out.repeatable && one.repeatable; len(one.body) == 0 {
			continue
		}
		separator := byte(',')
		if out.body == nil {
			separator, out.status, out.contentType = '[', http.StatusOK, one.contentType
		}
		out.body = append(append(out.body, separator), one.body...)
	}
	if out.body != nil {
		out.body = append(out.body, ']')
	}
	return out
}

// respondTo makes the response to a message.
func (d *Server) respondTo(w http.ResponseWriter, r *http.Request, set op.Toolset, c *op.Call,
	m *message) (response, error) {
	stream := &eventStream{w: w, call: c, server: d}
	x := &exchange{message: m, set: set, call: c, stream: stream}
	if failed := x.checkHeaders(r.Header); failed != nil {
		failed.id = m.id()
		return errorResponse(http.StatusBadRequest, failed), nil
	}
	if m.isNotification() || m.isResponse() {
		return response{status: http.StatusAccepted, repeatable: true}, nil
	}
	if x.isStateless() && x.method == "subscriptions/listen" {
		if err := op.RefuseStream(d.Closing); err != nil {
			return response{}, err
		}
	}
	ctx := r.Context()
	if !x.isStateless() {
		ctx = context.WithoutCancel(ctx) // in these revisions a client that leaves does not cancel
	}
	answer, failed := d.handle(ctx, x)
	out := response{status: x.httpStatus(failed), contentType: "application/json",
		body: encodeResponse(m.id(), answer, failed), repeatable: !x.mayHaveWritten, sent: stream.opened}
	if stream.opened {
		_ = stream.send(out.body) // a client that has left reads nothing
	}
	return out, nil
}

// httpStatus returns the status of a response: only the stateless revision shows errors in it.
func (x *exchange) httpStatus(e *rpcError) int {
	switch {
	case e == nil || !x.isStateless() || e.Code == codeOperationFailed || e.Code == codeInternalError:
		return http.StatusOK
	case e.Code == codeMethodNotFound:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// namedBy has the param that the header Mcp-Name repeats, by method.
var namedBy = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// checkHeaders compares the headers of the protocol with the message.
func (x *exchange) checkHeaders(h http.Header) *rpcError {
	revision := headerValue(h, "Mcp-Protocol-Version")
	if revision != "" && revision < statelessRevision && !slices.Contains(handshakeRevisions, revision) {
		return invalidRequest(nil, "MCP-Protocol-Version must be one of "+strings.Join(revisions, ", ")+".")
	}
	isStateless := revision >= statelessRevision
	if x.revision() != "" || isStateless && x.id() != nil {
		switch {
		case x.revision() == "":
			return invalidParams("missing or invalid _meta field \"" + metaProtocolVersion + "\"")
		case x.revision() != revision:
			return headerMismatch("MCP-Protocol-Version", revision, x.revision())
		}
	}
	if !isStateless || x.method == "" {
		return nil
	}
	if got := headerValue(h, "Mcp-Method"); got != x.method {
		return headerMismatch("Mcp-Method", got, x.method)
	}
	if param := namedBy[x.method]; param != "" {
		name, _ := text(x.params[param])
		if got := decodeHeader(headerValue(h, "Mcp-Name")); got == "" || got != name {
			return headerMismatch("Mcp-Name", got, name)
		}
	}
	return nil
}

// headerValue returns all values of a header (RFC 9110, section 5.3): a proxy may act on another one than the first.
func headerValue(h http.Header, name string) string { return strings.Join(h.Values(name), ", ") }

func headerMismatch(name, got, want string) *rpcError {
	message := fmt.Sprintf("%s is \"%s\", and the message says \"%s\".", name, strictjson.Shorten(got),
		strictjson.Shorten(want))
	if got == "" {
		message = "The header " + name + " is required, with what the message says."
	}
	return &rpcError{Code: codeHeaderMismatch, Message: message}
}

// decodeHeader returns the value of a header that may be encoded as =?base64?...?=, because it is no plain ASCII.
func decodeHeader(value string) string {
	if encoded, ok := strings.CutPrefix(value, "=?base64?"); ok {
		if plain, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "?=")); err == nil {
			return string(plain)
		}
	}
	return value
}

// newCall returns the call of a request. Where the operator allows it, a client of an older revision may send its
// key in the query.
func (d *Server) newCall(w http.ResponseWriter, r *http.Request) *op.Call {
	c := httpapi.NewCall(w, r, op.TransportMCP, d.TrustedProxies)
	if d.AllowQueryKey && len(r.Header["Authorization"]) == 0 &&
		r.Header.Get("Mcp-Protocol-Version") < statelessRevision {
		if key := r.URL.Query().Get("api_key"); !strings.HasPrefix(key, loci.AccessTokenPrefix) {
			c.Credential = key // a token travels in the header alone (RFC 9728, bearer_methods_supported)
		}
	}
	return c
}

// admit checks all that is not in the body.
func (d *Server) admit(w http.ResponseWriter, r *http.Request, c *op.Call) (op.Toolset, error) {
	if err := cmp.Or(d.Hosts.Check(r), d.Origins.Check(r)); err != nil {
		return "", err
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return "", loci.Errorf(loci.CodeMethodNotAllowed,
			"MCP clients send messages to this address by POST: loci setup connects an agent to it.")
	}
	if c.Credential == "" {
		return "", loci.NewError(loci.CodeMissingAPIKey)
	}
	if err := d.Authenticate(r.Context(), c); err != nil {
		return "", err
	}
	if err := httpapi.CheckJSON(r.Header); err != nil {
		return "", err
	}
	return d.toolset(r)
}

func (d *Server) toolset(r *http.Request) (op.Toolset, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", loci.Errorf(loci.CodeInvalidQuery, "the query is not percent-encoded")
	}
	if len(query["toolset"]) > 1 {
		return "", loci.Errorf(loci.CodeInvalidQuery, "toolset is given twice")
	}
	name := query.Get("toolset")
	if name == "" {
		return d.Toolset, nil
	}
	set, err := op.ParseToolset(name)
	if err != nil {
		return "", loci.Errorf(loci.CodeInvalidQuery, "toolset %v", err)
	}
	return set, nil
}
