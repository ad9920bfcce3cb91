package rest

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

// errorSchema describes the one shape of every error.
func errorSchema() *jsonschema.Schema {
	code := &jsonschema.Schema{Type: "string", Description: "Programs decide by it"}
	for _, e := range loci.Catalogue {
		code.Enum = append(code.Enum, string(e.Code))
	}
	alias := *code
	alias.Description = "The code once more, for older clients"
	return &jsonschema.Schema{
		Type: "object", Required: []string{"error", "code", "message"},
		Properties: map[string]*jsonschema.Schema{
			"error": &alias, "code": code,
			"message":   {Type: "string", Description: "A hint for people and agents on what to do"},
			"requestId": {Type: "string", Description: "Names the request when it is reported"},
		},
		PropertyOrder: []string{"error", "code", "message", "requestId"},
	}
}

// failures are the statuses with which any operation may be refused.
var failures = []int{400, 401, 403, 404, 409, 413, 415, 429, 500, 503}

// failure refers to the refusals with that status; 0 is any other one.
func (s *writer) failure(status int) object {
	name, description := "Failure", "Another failure"
	if status > 0 {
		name = strings.ReplaceAll(http.StatusText(status), " ", "")
		description = codes(status)
	}
	headers := object{"X-Request-Id": s.header("X-Request-Id")}
	switch status {
	case http.StatusUnauthorized:
		headers["WWW-Authenticate"] = s.header("WWW-Authenticate")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		headers["Retry-After"] = s.header("Retry-After")
	}
	s.responses[name] = object{"description": description, "headers": headers, "content": jsonOf(ref("schemas", "Error"))}
	return ref("responses", name)
}

// codes lists the codes of a status with their hints.
func codes(status int) string {
	var lines []string
	for _, e := range loci.Catalogue {
		if e.Status == status {
			lines = append(lines, fmt.Sprintf("`%s`: %s", e.Code, e.Hint))
		}
	}
	return strings.Join(lines, "\n\n")
}

var headerWords = map[string]struct{ kind, words string }{
	"X-Request-Id":         {"string", "The caller's X-Request-Id, or a new one"},
	"ETag":                 {"string", "Changes with every change of the representation"},
	"Idempotency-Replayed": {"string", "true where the answer is a stored one"},
	"RateLimit-Limit":      {"integer", "Operations in the current quota window"},
	"RateLimit-Remaining":  {"integer", "Operations left in the window"},
	"RateLimit-Reset":      {"integer", "Seconds until the window ends"},
	"Retry-After":          {"integer", "Seconds to wait, at least 1"},
	"WWW-Authenticate":     {"string", "Bearer"},
	"Set-Cookie":           {"string", "The cookie of the signed-in browser"},
}

func (s *writer) header(name string) object {
	h := headerWords[name]
	s.headers[name] = object{"description": h.words, "schema": object{"type": h.kind}}
	return ref("headers", name)
}

// headersOf describes the headers of a success.
func (s *writer) headersOf(o *op.Op, t reflect.Type) object {
	names := []string{"X-Request-Id"}
	if o.Access != op.Public {
		names = append(names, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
	}
	if o.Access != op.Public && o.Method == http.MethodPost {
		names = append(names, "Idempotency-Replayed")
	}
	zero := reflect.Zero(t).Interface()
	if _, ok := zero.(op.Tagged); ok {
		names = append(names, "ETag")
	}
	if _, ok := zero.(cookied); ok {
		names = append(names, "Set-Cookie")
	}
	out := object{}
	for _, n := range names {
		out[n] = s.header(n)
	}
	return out
}

// headerParameters are the headers that a request may carry: their names in
// the components, on the wire, and their schemas.
var headerParameters = map[string]object{
	"RequestID":      {"name": "X-Request-Id", "description": "Names the request; 1 to 128 of A-Z a-z 0-9 . _ -", "schema": object{"type": "string"}},
	"Actor":          {"name": "X-Loci-Actor", "description": "Names a trusted agent as the actor; X-Service-Actor means the same", "schema": object{"type": "string", "const": "agent"}},
	"IdempotencyKey": {"name": "Idempotency-Key", "description": "Makes a repetition within 24 hours harmless", "schema": object{"type": "string", "minLength": 1, "maxLength": 200}},
	"IfMatch":        {"name": "If-Match", "description": "The entity tag that the change is based on", "schema": object{"type": "string"}},
	"IfNoneMatch":    {"name": "If-None-Match", "description": "The entity tag of what the client has", "schema": object{"type": "string"}},
}

func (s *writer) parameter(name string) object {
	p := object{"in": "header"}
	maps.Copy(p, headerParameters[name])
	s.parameters[name] = p
	return ref("parameters", name)
}

// parametersOf describes the fields in path and query, and the headers.
func (s *writer) parametersOf(o *op.Op) []object {
	var out []object
	for _, f := range o.Fields() {
		if f.Place != op.InBody {
			out = append(out, parameterOf(f, untitled(o.In().Properties[f.Name])))
		}
	}
	out = append(out, s.parameter("RequestID"))
	if o.Access != op.Public {
		out = append(out, s.parameter("Actor"))
	}
	if o.Access != op.Public && o.Method == http.MethodPost {
		out = append(out, s.parameter("IdempotencyKey"))
	}
	if o.Guarded {
		out = append(out, s.parameter("IfMatch"))
	}
	if _, t := o.Types(); tagged(o, t) {
		out = append(out, s.parameter("IfNoneMatch"))
	}
	return out
}

// listForm says how a list is written in a query.
const listForm = `Repeat the name for several items, or separate them by commas; \, is a comma within an item.`

func parameterOf(f op.Field, schema *jsonschema.Schema) object {
	schema.Description = ""
	p := object{"in": string(f.Place), "name": f.Name, "schema": schema}
	if f.Required {
		p["required"] = true
	}
	if f.Description != "" {
		p["description"] = f.Description
	}
	if f.List {
		p["style"], p["explode"] = "form", true
		p["description"] = strings.TrimPrefix(f.Description+". "+listForm, ". ")
	}
	return p
}
