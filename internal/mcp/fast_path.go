package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/op"
)

// A toolCall is a request of tools/call. Its values stand as they were sent,
// and are nil where they were not.
type toolCall struct {
	version, id, method, params json.RawMessage
	meta, name, arguments       json.RawMessage // of the params
	needsSDK                    bool            // the params hold what only the SDK understands

	revision, info, capabilities json.RawMessage // of the meta
}

// parseToolCall reads a message that is valid JSON. Where a name has escapes, only
// the SDK understands it.
func parseToolCall(message []byte) (m toolCall) {
	m.parseMembers(message, func(name string) *json.RawMessage {
		switch name {
		case "jsonrpc":
			return &m.version
		case "id":
			return &m.id
		case "method":
			return &m.method
		case "params":
			return &m.params
		}
		return nil
	})
	m.parseMembers(m.params, func(name string) *json.RawMessage {
		switch name {
		case "_meta":
			return &m.meta
		case "name":
			return &m.name
		case "arguments":
			return &m.arguments
		case "inputResponses", "requestState":
			m.needsSDK = true
		}
		return nil
	})
	m.parseMembers(m.meta, func(name string) *json.RawMessage {
		switch name {
		case sdk.MetaKeyProtocolVersion:
			return &m.revision
		case sdk.MetaKeyClientInfo:
			return &m.info
		case sdk.MetaKeyClientCapabilities:
			return &m.capabilities
		}
		return nil
	})
	return m
}

func (m *toolCall) parseMembers(object []byte, dest func(name string) *json.RawMessage) {
	eachMember(object, func(name, value []byte) {
		if p := dest(string(name)); p != nil {
			*p = value
		}
		m.needsSDK = m.needsSDK || bytes.IndexByte(name, '\\') >= 0
	})
}

const statelessRevision = "2026-07-28"

// serveFast answers a call of a tool by itself, and reports whether it did. The
// SDK makes a session with its goroutines for each request, which costs ten
// times as much as all the rest of the door. Only a call that is right in
// every point is answered here; what is wrong with any other, the SDK says.
func (d *Server) serveFast(set op.Exposure, w *responseWriter, r *http.Request, message []byte) bool {
	m := parseToolCall(message)
	if string(m.version) != `"2.0"` || string(m.method) != `"tools/call"` || m.id == nil || string(m.id) == "null" ||
		m.needsSDK || m.meta != nil && m.meta[0] != '{' {
		return false
	}
	t := d.tools[set][unquote(m.name)]
	if t == nil {
		return false
	}
	ctx, isStateless := r.Context(), r.Header.Get("MCP-Protocol-Version") == statelessRevision
	switch {
	case isStateless && !m.matchesHeaders(r.Header) || !isStateless && !m.isHandshakeRevision(r.Header):
		return false
	case !isStateless:
		// Before, who hung up did not thereby give up.
		ctx = context.WithoutCancel(ctx)
	}
	w.mayHaveWritten.Store(!t.op.ReadOnly)
	object, failed := d.callTool(ctx, t, w.call, m.arguments)
	w.Header().Set("Content-Type", "application/json")
	w.body = d.resultMessage(m.id, object, failed, isStateless)
	return true
}

// isHandshakeRevision reports whether the call is of a revision with a handshake.
func (m *toolCall) isHandshakeRevision(h http.Header) bool {
	version := h.Get("MCP-Protocol-Version")
	return m.revision == nil && (version == "" ||
		version < statelessRevision && slices.Contains(sdk.SupportedProtocolVersions(), version))
}

// matchesHeaders reports whether the call has what the stateless revision asks for,
// and says the same in its headers.
func (m *toolCall) matchesHeaders(h http.Header) bool {
	return string(m.revision) == `"`+statelessRevision+`"` &&
		bytes.HasPrefix(m.capabilities, []byte("{")) &&
		(m.info == nil || m.info[0] == '{') &&
		h.Get("Mcp-Method") == unquote(m.method) && h.Get("Mcp-Name") == unquote(m.name)
}

// unquote returns what stands between the quotes of a string; of anything else, and
// of a string with escapes, it returns what no name is.
func unquote(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	return string(value[1 : len(value)-1])
}

// resultMessage writes the result of a call as the SDK does.
func (d *Server) resultMessage(id, object []byte, failed, isStateless bool) []byte {
	b := bytes.NewBuffer(make([]byte, 0, len(object)+len(object)/4+512))
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(id)
	b.WriteString(`,"result":{"content":[{"type":"text","text":`)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(string(object)) // a string can be encoded, a buffer written
	b.WriteString(`}]`)
	if failed {
		b.WriteString(`,"isError":true`)
	}
	if isStateless {
		b.WriteString(`,"_meta":{"` + sdk.MetaKeyServerInfo + `":`)
		b.Write(d.serverInfo)
		b.WriteString(`},"resultType":"complete"`)
	}
	b.WriteString("}}")
	return b.Bytes()
}
