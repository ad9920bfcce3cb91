package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/strictjson"
)

// maxCompletions is the most values of a completion (MCP, completion/complete).
const maxCompletions = 100

// complete completes an argument of a prompt or a variable of a resource template: ids of atlases, by the beginning of
// the id or by the name. For other arguments it knows no values.
func (d *Server) complete(ctx context.Context, x *exchange) ([]byte, *rpcError) {
	name, value, err := x.completionArgument()
	if err != nil {
		return nil, err
	}
	arguments, err := x.completionReference()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(arguments, name) {
		return nil, invalidParams(fmt.Sprintf("params.argument.name must be one of %s.", strings.Join(arguments, ", ")))
	}
	values := []string{}
	if name == "atlas" || name == "atlasId" {
		if values, err = d.completeAtlas(ctx, x, value); err != nil {
			return nil, err
		}
	}
	shown := values[:min(len(values), maxCompletions)]
	return d.encodeResult(result{"completion": result{"values": shown, "hasMore": len(shown) < len(values)}},
		x.isStateless()), nil
}

// maxAtlases is the most atlases that a completion reads.
const maxAtlases = 1000

// completeAtlas returns ids of atlases, at most one more than are shown.
func (d *Server) completeAtlas(ctx context.Context, x *exchange, value string) ([]string, *rpcError) {
	ids, part, read := []string{}, strings.ToLower(value), 0
	for a, err := range d.allAtlases(ctx, x.call) {
		if err != nil {
			return nil, operationError(err, x.call)
		}
		if strings.HasPrefix(string(a.ID), part) || strings.Contains(strings.ToLower(a.Name), part) {
			ids = append(ids, string(a.ID))
		}
		if read++; len(ids) > maxCompletions || read == maxAtlases {
			break
		}
	}
	return ids, nil
}

// completionArgument returns the argument that is completed.
func (x *exchange) completionArgument() (name, value string, _ *rpcError) {
	m, err := stringMembers(x.params["argument"], "params.argument")
	if err != nil {
		return "", "", err
	}
	if m["name"] == "" {
		return "", "", invalidParams("params.argument.name is required.")
	}
	if _, ok := m["value"]; !ok {
		return "", "", invalidParams("params.argument.value is required.")
	}
	return m["name"], m["value"], nil
}

// completionReference returns the names of the arguments of the prompt or template that is completed.
func (x *exchange) completionReference() (arguments []string, _ *rpcError) {
	ref, err := stringMembers(x.params["ref"], "params.ref")
	if err != nil {
		return nil, err
	}
	switch ref["type"] {
	case "ref/prompt":
		p := promptNamed(ref["name"])
		if p == nil {
			return nil, unknownPrompt(ref["name"])
		}
		return p.argumentNames(), nil
	case "ref/resource":
		switch ref["uri"] {
		case memoryTemplate:
			return []string{"memoryId"}, nil
		case contextTemplate:
			return []string{"atlasId"}, nil
		}
		return nil, invalidParams(fmt.Sprintf("params.ref.uri must be %s or %s.", memoryTemplate, contextTemplate))
	}
	return nil, invalidParams("params.ref.type must be ref/prompt or ref/resource.")
}

// stringMembers returns the members of an object of strings; one that is null is absent.
func stringMembers(object json.RawMessage, name string) (map[string]string, *rpcError) {
	if !isObject(object) {
		return nil, invalidParams(name + " must be an object.")
	}
	members := map[string]string{}
	var failed *rpcError
	err := strictjson.Walk(object, func(path []string, value []byte) {
		s, ok := text(value)
		if len(path) == 1 && string(value) == "null" {
			return
		}
		if len(path) == 1 {
			members[path[0]] = s
		}
		if !ok && failed == nil {
			failed = invalidParams(name + "." + strictjson.Shorten(path[0]) + " must be a string.")
		}
	})
	if err != nil {
		return nil, invalidParams(name + ": " + err.Error() + ".")
	}
	return members, failed
}
