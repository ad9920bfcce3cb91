package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"

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
func (d *Server) HTTP() http.Handler {
	g := d.newOriginChecker()
	sets := map[op.Exposure]http.Handler{}
	for set, s := range d.sdkServers {
		sets[set] = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
			return s
		}, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, MaxRequestBodyBytes: -1,
			// Its own check refuses what comes through a reverse proxy: ours stands before it.
			DisableLocalhostProtection:   true,
			PropagateRequestCancellation: true,
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpapi.InitHeaders(w, r)
		c := d.newCall(w, r)
		set, err := d.admit(g, w, r, c)
		out := &responseWriter{ResponseWriter: w, call: c}
		if err == nil {
			err = d.respond(set, sets[set], out, r)
		}
		if err == nil {
			err = out.writeResponse(r.Context(), d.ResponseLimiter)
		}
		if err != nil {
			httpapi.WriteError(w, r, c.Quota, err)
		}
	})
}

// respond reads a message and makes the answer to it.
func (d *Server) respond(set op.Exposure, sdk http.Handler, out *responseWriter, r *http.Request) error {
	message, err := httpapi.ReadBody(out.ResponseWriter, r, httpapi.MaxBody)
	if err != nil {
		return err
	}
	decodeNameHeader(r.Header)
	if code, text := validateMessage(message); code != 0 {
		out.setError(http.StatusBadRequest, nil, code, text)
		return nil
	}
	if d.serveFast(set, out, r, message) {
		return nil
	}
	// The request itself outlives the answer: only a copy may hold the message.
	sdkRequest := r.WithContext(context.WithValue(r.Context(), responseWriterKey{}, out))
	sdkRequest.Body = io.NopCloser(bytes.NewReader(message))
	// The answer is JSON, whatever the client says that it accepts.
	sdkRequest.Header.Set("Accept", "application/json, text/event-stream")
	sdk.ServeHTTP(out, sdkRequest)
	out.translateSDKResponse(message)
	return nil
}

// decodeNameHeader reads an Mcp-Name that is no plain ASCII: =?base64?...?=. The SDK
// compares it as it is sent.
func decodeNameHeader(h http.Header) {
	if encoded, ok := strings.CutPrefix(h.Get("Mcp-Name"), "=?base64?"); ok {
		if plain, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "?=")); err == nil {
			h.Set("Mcp-Name", string(plain))
		}
	}
}

// newCall returns the call of a request. Where the operator allows it, a client of an older revision may send its
// key in the query.
func (d *Server) newCall(w http.ResponseWriter, r *http.Request) *op.Call {
	c := httpapi.NewCall(w, r, "mcp", d.TrustedProxies)
	if d.AllowQueryKey && len(r.Header["Authorization"]) == 0 &&
		r.Header.Get("MCP-Protocol-Version") < statelessRevision {
		c.Credential = r.URL.Query().Get("api_key")
	}
	return c
}

// admit checks all that is not in the body.
func (d *Server) admit(g originChecker, w http.ResponseWriter, r *http.Request, c *op.Call) (op.Exposure, error) {
	if err := g.check(r); err != nil {
		return 0, err
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return 0, loci.NewError(loci.CodeMethodNotAllowed)
	}
	if c.Credential == "" {
		return 0, loci.NewError(loci.CodeMissingAPIKey)
	}
	if err := d.Authenticate(r.Context(), c); err != nil {
		return 0, err
	}
	if !httpapi.IsJSON(r.Header) {
		return 0, loci.NewError(loci.CodeUnsupportedMediaType)
	}
	return d.toolset(r)
}

func (d *Server) toolset(r *http.Request) (op.Exposure, error) {
	if r.URL.RawQuery == "" {
		return d.Toolset, nil
	}
	switch name := r.URL.Query().Get("toolset"); name {
	case "":
		return d.Toolset, nil
	case "core":
		return op.ToolCore, nil
	case "stable":
		return op.ToolStable, nil
	case "full":
		return op.ToolFull, nil
	}
	return 0, loci.NewError(loci.CodeInvalidQuery, "toolset must be one of core, stable, full")
}
