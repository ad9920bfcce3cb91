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
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func ref(kind, name string) jsonObject {
	return jsonObject{"$ref": "#/components/" + kind + "/" + name}
}

// errorSchema describes the form of every error.
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

// errorStatuses are the error statuses of any operation.
var errorStatuses = []int{400, 401, 403, 404, 409, 413, 415, 429, 500, 503}

// errorResponse refers to the errors with that status; 0 means any other one.
func (s *openAPIBuilder) errorResponse(status int) jsonObject {
	name, description := "Failure", "Another failure"
	if status > 0 {
		name = strings.ReplaceAll(http.StatusText(status), " ", "")
		description = codeDescriptions(status)
	}
	headers := jsonObject{"X-Request-Id": s.headerRef("X-Request-Id")}
	switch status {
	case http.StatusUnauthorized:
		headers["WWW-Authenticate"] = s.headerRef("WWW-Authenticate")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		headers["Retry-After"] = s.headerRef("Retry-After")
	}
	s.responses[name] = jsonObject{"description": description, "headers": headers,
		"content": jsonContent(ref("schemas", "Error"))}
	return ref("responses", name)
}

// codeDescriptions lists the codes of a status with their hints.
func codeDescriptions(status int) string {
	var lines []string
	for _, e := range loci.Catalogue {
		if e.Status == status {
			lines = append(lines, fmt.Sprintf("`%s`: %s", e.Code, e.Hint))
		}
	}
	return strings.Join(lines, "\n\n")
}

// tagDescriptions describe the resources, which are the tags of operations.
var tagDescriptions = map[string]string{
	"account":    "Your account, plan and usage.",
	"agent":      "Agents, which are programs with a key or a grant, and their messages.",
	"atlas":      "Atlases, which hold memories and route them by keywords.",
	"attachment": "Files of memories.",
	"auth":       "Registration, sign-in, and links of mails, for browsers.",
	"auto":       "Automatic memory: what is extracted from the sessions of agents, and where it goes.",
	"benefit":    "Benefits, which lift your plan for some days.",
	"file":       "Tokens for files.",
	"grant":      "Programs that you let use your workspaces.",
	"invitation": "Invitations into workspaces.",
	"key":        "API keys.",
	"member":     "Members of workspaces and their roles.",
	"memory":     "Memories, their versions, reviews and search.",
	"oauth":      "The authorization server, for programs that ask a person.",
	"page":       "Pages for browsers.",
	"referral":   "Your referral link and the people who registered with it.",
	"service":    "State and description of this server.",
	"session":    "Sessions of agents, and the candidates for memories from them.",
	"signin":     "Browsers that are signed in.",
	"unit":       "Tasks of automatic sessions, each with one memory.",
	"workspace":  "Workspaces, which belong to one person or to a team.",
}

var headerDescriptions = map[string]struct{ kind, words string }{
	"X-Request-Id":         {"string", "The caller's X-Request-Id, or a new one"},
	"ETag":                 {"string", "Changes with every change of the representation"},
	"Idempotency-Replayed": {"string", "true where the answer is a stored one"},
	"RateLimit-Limit":      {"integer", "Operations in the current quota window"},
	"RateLimit-Remaining":  {"integer", "Operations left in the window"},
	"RateLimit-Reset":      {"integer", "Seconds until the window ends"},
	"Retry-After":          {"integer", "Seconds to wait, at least 1"},
	"WWW-Authenticate":     {"string", `Bearer, with error="invalid_token" when a token was sent that is not known`},
	"Set-Cookie":           {"string", "The cookie of the signed-in browser"},
	"Deprecation":          {"string", "true: the route, or a field of it, will be removed"},
	"Sunset":               {"string", "Day of the removal, as an HTTP date"},
}

func (s *openAPIBuilder) headerRef(name string) jsonObject {
	h := headerDescriptions[name]
	s.headers[name] = jsonObject{"description": h.words, "schema": jsonObject{"type": h.kind}}
	return ref("headers", name)
}

// responseHeaders describes the headers of a success.
func (s *openAPIBuilder) responseHeaders(o *op.Op, t reflect.Type) jsonObject {
	names := []string{"X-Request-Id"}
	if o.Access != op.Public {
		names = append(names, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
	}
	if o.AcceptsIdempotencyKey() {
		names = append(names, "Idempotency-Replayed")
	}
	zero := reflect.Zero(t).Interface()
	if _, ok := zero.(op.Tagged); ok {
		names = append(names, "ETag")
	}
	if _, ok := zero.(httpapi.CookieSetter); ok {
		names = append(names, "Set-Cookie")
	}
	if len(s.deprecations(o)) > 0 {
		names = append(names, "Deprecation", "Sunset")
	}
	out := jsonObject{}
	for _, n := range names {
		out[n] = s.headerRef(n)
	}
	return out
}

// headerParameters are the headers that a request may carry: their names in
// the components, on the wire, and their schemas.
var headerParameters = map[string]jsonObject{
	"RequestID": {"name": "X-Request-Id", "description": "Names the request; 1 to 128 of A-Z a-z 0-9 . _ -",
		"schema": jsonObject{"type": "string"}},
	// A generator would send an enum of one value with every call.
	"Actor": {"name": "X-Loci-Actor", "description": "Names a trusted agent as the actor; X-Service-Actor means the " +
		"same", "schema": jsonObject{"type": "string", "pattern": "^" + op.ActorAgent + "$"}},
	"IdempotencyKey": {"name": "Idempotency-Key", "description": "Makes a repetition within 24 hours harmless",
		"schema": jsonObject{"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]([ -~]*[!-~])?$"}},
	"IfMatch": {"name": "If-Match", "description": "The entity tag that the change is based on",
		"schema": jsonObject{"type": "string"}},
	"LastEventID": {"name": "Last-Event-ID", "description": "The last event that the client has got",
		"schema": jsonObject{"type": "string"}},
	"IfNoneMatch": {"name": "If-None-Match", "description": "The entity tag of what the client has",
		"schema": jsonObject{"type": "string"}},
}

func (s *openAPIBuilder) parameterRef(name string) jsonObject {
	p := jsonObject{"in": "header"}
	maps.Copy(p, headerParameters[name])
	s.parameters[name] = p
	return ref("parameters", name)
}

// operationParameters describes the fields in path and query, and the headers.
func (s *openAPIBuilder) operationParameters(o *op.Op, in *jsonschema.Schema) []jsonObject {
	var out []jsonObject
	for _, f := range o.Fields() {
		if f.Location != op.InBody {
			out = append(out, fieldParameter(f, withoutTitles(in.Properties[f.Name])))
		}
	}
	out = append(out, s.parameterRef("RequestID"))
	if o.Access != op.Public {
		out = append(out, s.parameterRef("Actor"))
	}
	if o.AcceptsIdempotencyKey() {
		out = append(out, s.parameterRef("IdempotencyKey"))
	}
	if o.Has(op.IfMatch) {
		out = append(out, s.parameterRef("IfMatch"))
	}
	_, t := o.Types()
	if t.Implements(reflect.TypeFor[eventIdentifier]()) {
		out = append(out, s.parameterRef("LastEventID"))
	}
	if acceptsIfNoneMatch(o, t) {
		out = append(out, s.parameterRef("IfNoneMatch"))
	}
	return out
}

// listEncodingNote describes the encoding of a list in a query.
const listEncodingNote = `Repeat the name for several items, or separate them by commas; \, is a comma within an item.`

func fieldParameter(f op.Field, schema *jsonschema.Schema) jsonObject {
	schema.Description = ""
	if schema.Const != nil { // generators of clients leave out an operation with a const in a parameter
		schema.Enum, schema.Const = []any{*schema.Const}, nil
	}
	p := jsonObject{"in": string(f.Location), "name": f.Name, "schema": schema}
	if f.Required {
		p["required"] = true
	}
	if schema.Deprecated {
		p["deprecated"] = true
		schema.Deprecated = false
	}
	if f.Description != "" {
		p["description"] = f.Description
	}
	if f.List {
		p["style"], p["explode"] = "form", true
		p["description"] = strings.TrimPrefix(f.Description+". "+listEncodingNote, ". ")
	}
	return p
}
