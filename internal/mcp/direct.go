package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/op"
)

// A toolCall is a request of tools/call.
type toolCall struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Meta      map[string]json.RawMessage `json:"_meta"`
		Name      string                     `json:"name"`
		Arguments json.RawMessage            `json:"arguments"`
		Responses json.RawMessage            `json:"inputResponses"`
		State     json.RawMessage            `json:"requestState"`
	} `json:"params"`
}

const stateless = "2026-07-28"

// direct answers a call of a tool by itself, and reports whether it did. The
// SDK makes a session with its goroutines for each request, which costs ten
// times as much as all the rest of the door. Only a call that is right in
// every point is answered here; what is wrong with any other, the SDK says.
func (d *Door) direct(set op.Reach, w *reply, r *http.Request, c *op.Call) bool {
	var m toolCall
	if json.Unmarshal(w.body, &m) != nil || m.Version != "2.0" || m.Method != "tools/call" || m.Params.Responses != nil || m.Params.State != nil {
		return false
	}
	t := d.tools[set][m.Params.Name]
	if t == nil || len(m.ID) == 0 || !identifies(m.ID) || !utf8.Valid(w.body) {
		return false
	}
	ctx, modern := r.Context(), r.Header.Get("MCP-Protocol-Version") == stateless
	switch {
	case modern && !m.agrees(r.Header) || !modern && !m.older(r.Header):
		return false
	case !modern:
		// Before, who hung up did not thereby give up.
		ctx = context.WithoutCancel(ctx)
	}
	object, failed := d.answer(ctx, t, c, m.Params.Arguments)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(d.response(m.ID, object, failed, modern)) // a client that has left is told nothing
	return true
}

// older reports whether the call is of a revision with a handshake.
func (m *toolCall) older(h http.Header) bool {
	version := h.Get("MCP-Protocol-Version")
	return m.Params.Meta[sdk.MetaKeyProtocolVersion] == nil && (version == "" || version < stateless && slices.Contains(sdk.SupportedProtocolVersions(), version))
}

// agrees reports whether the call has what the stateless revision asks for,
// and says the same in its headers.
func (m *toolCall) agrees(h http.Header) bool {
	info := m.Params.Meta[sdk.MetaKeyClientInfo]
	return string(m.Params.Meta[sdk.MetaKeyProtocolVersion]) == `"`+stateless+`"` &&
		bytes.HasPrefix(m.Params.Meta[sdk.MetaKeyClientCapabilities], []byte("{")) &&
		(info == nil || bytes.HasPrefix(info, []byte("{"))) &&
		h.Get("Mcp-Method") == m.Method && h.Get("Mcp-Name") == m.Params.Name
}

// response writes the result of a call as the SDK does.
func (d *Door) response(id, object []byte, failed, modern bool) []byte {
	b := bytes.NewBuffer(make([]byte, 0, 2*len(object)+len(object)/4+512))
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(id)
	b.WriteString(`,"result":{"content":[{"type":"text","text":`)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(string(object)) // a string can be encoded, a buffer written
	b.WriteString(`}],"structuredContent":`)
	b.Write(object)
	if failed {
		b.WriteString(`,"isError":true`)
	}
	if modern {
		b.WriteString(`,"_meta":{"` + sdk.MetaKeyServerInfo + `":`)
		b.Write(d.self)
		b.WriteString(`},"resultType":"complete"`)
	}
	b.WriteString("}}")
	return b.Bytes()
}
