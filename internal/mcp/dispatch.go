package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// An exchange is a request and what is known of it beside its message.
type exchange struct {
	*message
	set  op.Toolset
	call *op.Call

	stream         messageStream // carries messages before the response
	mayHaveWritten bool          // a tool ran that may have written: nothing shows its result again
}

// isStateless reports whether the request is of a revision without a handshake.
func (x *exchange) isStateless() bool { return x.revision() >= statelessRevision }

// revision returns the revision that the request names itself, or "".
func (x *exchange) revision() string {
	revision, _ := text(x.meta[metaProtocolVersion])
	return revision
}

// A method answers requests of the eras in which it exists.
type method struct {
	handshake, stateless bool
	handle               func(*Server, context.Context, *exchange) ([]byte, *rpcError)
}

var methods = map[string]method{
	"initialize":               {handshake: true, handle: (*Server).initialize},
	"ping":                     {handshake: true, handle: (*Server).ping},
	"server/discover":          {stateless: true, handle: (*Server).discover},
	"subscriptions/listen":     {stateless: true, handle: (*Server).listen},
	"tools/list":               {true, true, (*Server).listTools},
	"tools/call":               {true, true, (*Server).callNamedTool},
	"resources/list":           {true, true, (*Server).listResources},
	"resources/templates/list": {true, true, (*Server).listResourceTemplates},
	"resources/read":           {true, true, (*Server).readResource},
	"prompts/list":             {true, true, (*Server).listPrompts},
	"prompts/get":              {true, true, (*Server).getPrompt},
	"completion/complete":      {true, true, (*Server).complete},
}

// handle answers a request. The result is encoded.
func (d *Server) handle(ctx context.Context, x *exchange) ([]byte, *rpcError) {
	if err := x.checkParams(); err != nil {
		return nil, err
	}
	m := methods[x.method]
	if m.handle == nil || x.isStateless() && !m.stateless || !x.isStateless() && !m.handshake {
		return nil, &rpcError{Code: codeMethodNotFound, Message: "There is no such method."}
	}
	return m.handle(d, ctx, x)
}

// encodeResult encodes a result, with the members that every result of the stateless revision has.
func (d *Server) encodeResult(r result, isStateless bool) []byte {
	if isStateless {
		meta, _ := r["_meta"].(result)
		if meta == nil {
			meta = result{}
			r["_meta"] = meta
		}
		r["resultType"], meta[metaServerInfo] = "complete", d.info
	}
	return encode(r)
}

// checkParams checks what all methods have in common.
func (x *exchange) checkParams() *rpcError {
	for _, p := range []struct {
		name  string
		value json.RawMessage
	}{{"params", x.members["params"]}, {"params._meta", x.params["_meta"]}} {
		if p.value != nil && string(p.value) != "null" && !isObject(p.value) {
			return invalidParams(p.name + " must be an object.")
		}
	}
	if !x.isStateless() {
		return nil
	}
	if info := x.meta[metaClientInfo]; info != nil && !isObject(info) {
		return invalidParams(fmt.Sprintf("invalid _meta field %q", metaClientInfo))
	}
	if !isObject(x.meta[metaClientCapabilities]) {
		return invalidParams(fmt.Sprintf("missing or invalid _meta field %q", metaClientCapabilities))
	}
	if x.revision() != statelessRevision {
		return &rpcError{Code: codeUnsupportedRevision, Message: "unsupported protocol version",
			Data: result{"supported": revisions, "requested": strictjson.Shorten(x.revision())}}
	}
	return nil
}

// param returns a param that is a string, or "" where it is absent.
func (x *exchange) param(name string) (string, *rpcError) {
	value := x.params[name]
	s, ok := text(value)
	if value != nil && !ok {
		return "", invalidParams("params." + name + " must be a string.")
	}
	return s, nil
}

// requireParams refuses a request without params.
func (x *exchange) requireParams() *rpcError {
	if !isObject(x.members["params"]) {
		return invalidParams("params is required.")
	}
	return nil
}

// rejectCursor refuses a cursor of a list that has one page.
func (x *exchange) rejectCursor() *rpcError {
	cursor, err := x.param("cursor")
	if err == nil && cursor != "" {
		err = invalidCursor()
	}
	return err
}

func invalidCursor() *rpcError {
	return invalidParams("params.cursor does not belong to this list: start again without it.")
}
