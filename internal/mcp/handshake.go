package mcp

import (
	"context"
	"slices"
)

// capabilities are announced without listChanged and subscribe: no list changes while a client is connected.
var capabilities = result{"tools": result{}, "resources": result{}, "prompts": result{}, "completions": result{}}

// initialize agrees on a revision: the client's, or the newest one with a handshake.
func (d *Server) initialize(_ context.Context, x *exchange) ([]byte, *rpcError) {
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
	return encode(result{"protocolVersion": revision, "capabilities": capabilities,
		"instructions": d.instructions(x), "serverInfo": d.info}), nil
}

func (d *Server) ping(context.Context, *exchange) ([]byte, *rpcError) { return []byte("{}"), nil }

func (d *Server) discover(_ context.Context, x *exchange) ([]byte, *rpcError) {
	return d.encodeResult(private(result{"supportedVersions": revisions, "capabilities": capabilities,
		"instructions": d.instructions(x)}), true), nil
}

// private keeps a result out of caches that clients share: it depends on the caller.
func private(r result) result {
	r["ttlMs"], r["cacheScope"] = 0, "private"
	return r
}
