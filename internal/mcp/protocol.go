package mcp

import (
	"encoding/json"

	"github.com/loci-memory/loci/internal/op"
)

// Revisions of the protocol, newest first. Those before statelessRevision begin with a handshake. batchRevision has
// batches, and is that of a client without a header that names one.
const (
	statelessRevision = "2026-07-28"
	batchRevision     = "2025-03-26"
)

var (
	handshakeRevisions = []string{"2025-11-25", "2025-06-18", batchRevision, "2024-11-05"}
	revisions          = append([]string{statelessRevision}, handshakeRevisions...)
)

// Members of _meta.
const (
	metaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo         = "io.modelcontextprotocol/clientInfo"
	metaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServerInfo         = "io.modelcontextprotocol/serverInfo"
	metaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
)

// Codes of errors (JSON-RPC 2.0, section 5.1, and MCP 2026-07-28).
const (
	codeParseError          = -32700
	codeInvalidRequest      = -32600
	codeMethodNotFound      = -32601
	codeInvalidParams       = -32602
	codeInternalError       = -32603
	codeOperationFailed     = -32000 // Loci's own, for an operation behind a resource or prompt: data tells more
	codeResourceNotFound    = -32002 // of revisions with a handshake
	codeHeaderMismatch      = -32020
	codeUnsupportedRevision = -32022
)

// An rpcError is an error of JSON-RPC.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`

	id json.RawMessage // of the request, where it is known
}

func invalidRequest(id json.RawMessage, message string) *rpcError {
	return &rpcError{Code: codeInvalidRequest, Message: message, id: id}
}

func invalidParams(message string) *rpcError {
	return &rpcError{Code: codeInvalidParams, Message: message}
}

// A result is the result of a request.
type result map[string]any

// encodeResponse returns the response with an encoded result, or with an error where there is one. The result is
// copied as it is.
func encodeResponse(id json.RawMessage, encoded []byte, e *rpcError) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	name := "result"
	if e != nil {
		name, encoded = "error", encode(e)
	}
	out := make([]byte, 0, len(id)+len(encoded)+48)
	out = append(append(append(out, `{"jsonrpc":"2.0","id":`...), id...), `,"`...)
	out = append(append(append(out, name...), `":`...), encoded...)
	return append(out, '}')
}

// encode returns the JSON of texts, maps and JSON that was checked: none of them can fail.
func encode(v any) []byte {
	b, err := op.Marshal(v)
	if err != nil {
		panic("mcp: " + err.Error())
	}
	return b
}
