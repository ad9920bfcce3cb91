package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// An exchange is a request and what is known of it beside its message.
type exchange struct {
	*message
	set  op.Toolset
	call *op.Call

	acknowledgement []byte // a notification that comes before the response
	mayHaveWritten  bool   // a tool ran that may have written: nothing shows its result again
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
	handle               func(*Server, context.Context, *exchange) (result, *rpcError)
}

var methods = map[string]method{
	"initialize":           {handshake: true, handle: (*Server).initialize},
	"ping":                 {handshake: true, handle: emptyList("")},
	"server/discover":      {stateless: true, handle: (*Server).discover},
	"subscriptions/listen": {stateless: true, handle: (*Server).listen},
	"tools/list":           {true, true, (*Server).listTools},
	"tools/call":           {true, true, (*Server).callNamedTool},
	// Some clients ask for these lists although the server has not announced them.
	"prompts/list":             {true, true, emptyList("prompts")},
	"resources/list":           {true, true, emptyList("resources")},
	"resources/templates/list": {true, true, emptyList("resourceTemplates")},
}

// handle answers a request.
func (d *Server) handle(ctx context.Context, x *exchange) (result, *rpcError) {
	if err := x.checkParams(); err != nil {
		return nil, err
	}
	m := methods[x.method]
	if m.handle == nil || x.isStateless() && !m.stateless || !x.isStateless() && !m.handshake {
		return nil, &rpcError{Code: codeMethodNotFound, Message: "There is no such method."}
	}
	r, err := m.handle(d, ctx, x)
	if err == nil && x.isStateless() {
		meta, _ := r["_meta"].(result)
		if meta == nil {
			meta = result{}
			r["_meta"] = meta
		}
		r["resultType"], meta[metaServerInfo] = "complete", d.info
	}
	return r, err
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

// initialize agrees on a revision: the client's, or the newest one with a handshake.
func (d *Server) initialize(_ context.Context, x *exchange) (result, *rpcError) {
	if err := x.requireParams(); err != nil {
		return nil, err
	}
	for _, name := range []string{"capabilities", "clientInfo"} {
		if value := x.params[name]; value != nil && !isObject(value) {
			return nil, invalidParams("params." + name + " must be an object.")
		}
	}
	revision, err := x.param("protocolVersion")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(handshakeRevisions, revision) {
		revision = handshakeRevisions[0]
	}
	return result{"protocolVersion": revision, "capabilities": capabilities, "instructions": d.instructions(),
		"serverInfo": d.info}, nil
}

// capabilities are tools alone, and their list never changes.
var capabilities = result{"tools": result{}}

func (d *Server) discover(context.Context, *exchange) (result, *rpcError) {
	return private(result{"supportedVersions": revisions, "capabilities": capabilities,
		"instructions": d.instructions()}), nil
}

// private keeps a result out of caches that clients share: it depends on the caller.
func private(r result) result {
	r["ttlMs"], r["cacheScope"] = 0, "private"
	return r
}

// listen acknowledges a subscription to nothing, because nothing changes, and ends it.
func (d *Server) listen(_ context.Context, x *exchange) (result, *rpcError) {
	if !isObject(x.params["notifications"]) {
		return nil, invalidParams("params.notifications must be an object.")
	}
	meta := result{metaSubscriptionID: x.id()}
	x.acknowledgement = encode(result{"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
		"params": result{"_meta": meta, "notifications": result{}}})
	return result{"_meta": meta}, nil
}

func (d *Server) listTools(_ context.Context, x *exchange) (result, *rpcError) {
	if err := x.rejectCursor(); err != nil {
		return nil, err
	}
	return private(result{"tools": d.lists[x.set]}), nil
}

// rejectCursor refuses a cursor: every list has one page.
func (x *exchange) rejectCursor() *rpcError {
	cursor, err := x.param("cursor")
	if err == nil && cursor != "" {
		err = invalidParams("params.cursor does not belong to this list: start again without it.")
	}
	return err
}

// emptyList returns a handler that answers with an empty list of that name, or with an empty object without a name.
func emptyList(name string) func(*Server, context.Context, *exchange) (result, *rpcError) {
	return func(_ *Server, _ context.Context, x *exchange) (result, *rpcError) {
		if name == "" {
			return result{}, nil
		}
		return private(result{name: []any{}}), x.rejectCursor()
	}
}

// callNamedTool runs a tool. It returns the object once, as text. No revision requires structured content of a tool
// without an output schema, and a client that shows both to the model doubles its cost.
func (d *Server) callNamedTool(ctx context.Context, x *exchange) (result, *rpcError) {
	if err := x.requireParams(); err != nil {
		return nil, err
	}
	name, err := x.param("name")
	if err != nil {
		return nil, err
	}
	t := d.tools[x.set][name]
	if t == nil {
		return nil, invalidParams(fmt.Sprintf("unknown tool %q", strictjson.Shorten(name)))
	}
	x.mayHaveWritten = !t.op.ReadOnly
	object, failed := d.callTool(ctx, t, x.call, x.params["arguments"])
	r := result{"content": []any{result{"type": "text", "text": string(object)}}}
	if failed {
		r["isError"] = true
	}
	return r, nil
}
