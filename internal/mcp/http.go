package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// HTTP returns the door as Streamable HTTP: stateless, a JSON answer for each
// POST. What keeps a client out is answered as on every other route, before a
// word of MCP is read; what is wrong with a message, in JSON-RPC. An answer is
// complete before its first byte is written, so that a client that reads it
// slowly keeps no request in memory.
func (d *Door) HTTP() http.Handler {
	g := d.guard()
	sets := map[op.Reach]http.Handler{}
	for set, s := range d.sets {
		sets[set] = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, MaxRequestBodyBytes: -1,
			// Its own check refuses what comes through a reverse proxy: ours stands before it.
			DisableLocalhostProtection:   true,
			PropagateRequestCancellation: true,
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := d.call(r)
		w.Header().Set("X-Request-Id", c.RequestID)
		w.Header().Set("Cache-Control", "no-store")
		set, err := d.admit(g, w, r, c)
		out := &reply{ResponseWriter: w, call: c}
		if err == nil {
			err = d.respond(set, sets[set], out, r)
		}
		if err == nil {
			err = out.send(r.Context(), d.Flow)
		}
		if err != nil {
			refuse(w, c, err)
		}
	})
}

// respond reads a message and makes the answer to it.
func (d *Door) respond(set op.Reach, sdk http.Handler, out *reply, r *http.Request) error {
	var body httpapi.Body
	if err := body.Receive(out.ResponseWriter, r, httpapi.MaxBody); err != nil {
		return err
	}
	message := body.Bytes()
	decodeName(r.Header)
	if code, text := mistake(message); code != 0 {
		out.fail(http.StatusBadRequest, nil, code, text)
		return nil
	}
	if d.direct(set, out, r, message) {
		return nil
	}
	// The request itself outlives the answer: only a copy may hold the message.
	through := r.WithContext(context.WithValue(r.Context(), replyKey{}, out))
	through.Body = io.NopCloser(bytes.NewReader(message))
	// The answer is JSON, whatever the client says that it accepts.
	through.Header.Set("Accept", "application/json, text/event-stream")
	sdk.ServeHTTP(out, through)
	out.translate(message)
	return nil
}

// decodeName reads an Mcp-Name that is no plain ASCII: =?base64?...?=. The SDK
// compares it as it is sent.
func decodeName(h http.Header) {
	if coded, ok := strings.CutPrefix(h.Get("Mcp-Name"), "=?base64?"); ok {
		if plain, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(coded, "?=")); err == nil {
			h.Set("Mcp-Name", string(plain))
		}
	}
}

// call makes the op.Call of a request.
func (d *Door) call(r *http.Request) *op.Call {
	c := &op.Call{Door: "mcp", Proof: d.proof(r), Actor: actor(r.Header), Address: d.TrustedProxies.Client(r),
		RequestID: r.Header.Get("X-Request-Id")}
	_, c.AgentID = r.Header["X-Loci-Agent-Id"]
	if !validRequestID(c.RequestID) {
		c.RequestID = loci.NewID(time.Now())
	}
	return c
}

// proof returns the credential that came with a request, or "".
func (d *Door) proof(r *http.Request) string {
	given := r.Header["Authorization"]
	if len(given) > 1 {
		return ""
	}
	scheme, key, _ := strings.Cut(strings.Join(given, ""), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	if d.QueryKey && scheme == "" && r.Header.Get("MCP-Protocol-Version") < "2026-07-28" {
		return r.URL.Query().Get("api_key")
	}
	return ""
}

// actor returns what the actor headers say; of several, one that is refused.
func actor(h http.Header) string {
	named := ""
	for _, a := range slices.Concat(h["X-Loci-Actor"], h["X-Service-Actor"]) {
		if named == "" || named == "agent" {
			named = cmp.Or(a, "nobody") // an empty one is refused too
		}
	}
	return named
}

func validRequestID(id string) bool {
	for _, b := range []byte(id) {
		if (b|0x20 < 'a' || b|0x20 > 'z') && (b < '0' || b > '9') && b != '.' && b != '_' && b != '-' {
			return false
		}
	}
	return 1 <= len(id) && len(id) <= 128
}

// admit checks all that is not in the body.
func (d *Door) admit(g guard, w http.ResponseWriter, r *http.Request, c *op.Call) (op.Reach, error) {
	if err := g.check(r); err != nil {
		return 0, err
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return 0, loci.Fail(loci.MethodNotAllowed)
	}
	if c.Proof == "" {
		return 0, loci.Fail(loci.MissingAPIKey)
	}
	if err := d.Authenticate(r.Context(), c); err != nil {
		return 0, err
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if len(r.Header["Content-Type"]) > 1 || !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return 0, loci.Fail(loci.UnsupportedMediaType)
	}
	return d.toolset(r)
}

func (d *Door) toolset(r *http.Request) (op.Reach, error) {
	if r.URL.RawQuery == "" {
		return d.Toolset, nil
	}
	switch name := r.URL.Query().Get("toolset"); name {
	case "":
		return d.Toolset, nil
	case "core":
		return op.Core, nil
	case "stable":
		return op.Stable, nil
	case "full":
		return op.Full, nil
	}
	return 0, loci.Fail(loci.InvalidQuery, "toolset must be one of core, stable, full")
}

// refuse answers as the other doors do: a problem, and its status.
func refuse(w http.ResponseWriter, c *op.Call, err error) {
	p := op.NewProblem(err, c.RequestID)
	switch p.Code {
	case loci.MissingAPIKey:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case loci.InvalidKey:
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	}
	quota(w.Header(), c)
	retry(w.Header(), err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Code.Status())
	_, _ = w.Write(append(problem(err, c), '\n')) // a client that has left is told nothing
}
