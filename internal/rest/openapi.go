package rest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// A jsonObject is a JSON object of the document. Its keys are written in order, so that equal tables give equal bytes.
type jsonObject = map[string]any

// An openAPIBuilder builds the OpenAPI 3.1 document. Components are listed once they are referenced.
type openAPIBuilder struct {
	cookie     string
	paths      jsonObject
	tags       map[string]string
	parameters jsonObject
	headers    jsonObject
	responses  jsonObject
	schemas    map[string]*jsonschema.Schema

	deprecations func(*op.Op) []Deprecation
}

// openAPIDocument describes the operations and the routes.
func (d *handler) openAPIDocument(routes []httpapi.Route) []byte {
	s := &openAPIBuilder{httpapi.CookieName(httpapi.IsSecureURL(d.PublicURL)), jsonObject{}, map[string]string{},
		jsonObject{}, jsonObject{}, jsonObject{},
		map[string]*jsonschema.Schema{"Error": errorSchema()}, d.deprecations}
	for _, o := range d.Table.Ops {
		for i, path := range paths(o) {
			operation := s.operationObject(o)
			if i > 0 { // each operation object has an id of its own
				operation["operationId"] = o.Name + ".alias"
			}
			s.addOperation(o.Method, path, operation)
		}
	}
	for _, r := range routes {
		method, path, ok := strings.Cut(r.Pattern, " ")
		if r.Describe != nil && ok {
			s.addOperation(method, path, s.routeObject(r.Describe))
		}
	}
	b, err := json.Marshal(s.build(d.PublicURL, d.ServiceVersion))
	if err != nil {
		panic("rest: " + err.Error())
	}
	return b
}

// addOperation lists an operation object; its id is "resource.verb", its tag the resource.
func (s *openAPIBuilder) addOperation(method, path string, operation jsonObject) {
	if s.paths[path] == nil {
		s.paths[path] = jsonObject{}
	}
	s.paths[path].(jsonObject)[strings.ToLower(method)] = operation
	id, _ := operation["operationId"].(string)
	tag, _, _ := strings.Cut(id, ".")
	operation["tags"] = []string{tag}
	s.tags[tag] = tagDescriptions[tag]
}

func (s *openAPIBuilder) build(url, serviceVersion string) jsonObject {
	info := jsonObject{
		"title": "Loci", "version": ContractVersion,
		"summary": "Durable memory for people and their agents",
		"description": "Memories are Markdown, belong to an atlas, and an atlas belongs to a workspace. Programs " +
			"decide " +
			"by the `code` of an error, never by its message. Fields may be added within /v1.",
		"license": jsonObject{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		"contact": jsonObject{"name": "Loci", "url": "https://github.com/loci-memory/loci"},
	}
	if serviceVersion != "" {
		info["x-service-version"] = serviceVersion
	}
	return jsonObject{
		"openapi": "3.1.0",
		"info":    info,
		"servers": []jsonObject{{"url": cmp.Or(url, "/")}},
		"tags":    s.tagList(),
		"paths":   s.paths,
		"components": jsonObject{
			"schemas": s.schemas, "parameters": s.parameters, "headers": s.headers, "responses": s.responses,
			"securitySchemes": jsonObject{
				"bearer": jsonObject{"type": "http", "scheme": "bearer",
					"description": "An API key (" + loci.KeyPrefix + "...) or an access token"},
				"oauth2": jsonObject{"type": "oauth2", "description": "An access token of a program, sent as bearer",
					"flows": jsonObject{"authorizationCode": jsonObject{
						"authorizationUrl": url + httpapi.AuthorizePath, "tokenUrl": url + "/oauth/token",
						"refreshUrl": url + "/oauth/token", "scopes": oauthScopes}}},
				"fileToken": jsonObject{"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
					"description": "A token of file.exchange, for files alone"},
				"cookie": jsonObject{"type": "apiKey", "in": "cookie", "name": s.cookie,
					"description": "A signed-in browser"},
			},
		},
	}
}

func (s *openAPIBuilder) tagList() []jsonObject {
	var list []jsonObject
	for _, name := range sortedKeys(s.tags) {
		tag := jsonObject{"name": name}
		if s.tags[name] != "" {
			tag["description"] = s.tags[name]
		}
		list = append(list, tag)
	}
	return list
}

// securityRequirements returns the credentials of an operation.
func securityRequirements(a op.Access) []jsonObject {
	switch a {
	case op.Public:
		return []jsonObject{}
	case op.Agent:
		return []jsonObject{{"bearer": []string{}}}
	case op.Person:
		return append(anyCredential, jsonObject{"oauth2": []string{"mcp", "account"}})
	case op.File:
		return []jsonObject{{"fileToken": []string{}}}
	}
	return append(anyCredential, jsonObject{"oauth2": []string{"mcp"}})
}

var (
	anyCredential = slices.Clip([]jsonObject{{"bearer": []string{}}, {"cookie": []string{}}})
	oauthScopes   = jsonObject{"mcp": "The workspaces that the person chose",
		"account": "Beside mcp, for programs of the person's own device: everything that the person may do"}
)

var accessDescriptions = map[op.Access]string{
	op.Public:  "It needs no credential.",
	op.Account: "It takes any credential.",
	op.Person:  "It takes an API key, a signed-in browser, or an access token with the scope account.",
	op.Agent:   "It takes an API key together with X-Loci-Actor: agent.",
	op.File:    "It takes a token of file.exchange, and nothing else.",
}

func (s *openAPIBuilder) operationObject(o *op.Op) jsonObject {
	deprecations := s.deprecations(o)
	in := markDeprecated(o.InputSchema(), deprecations)
	out := jsonObject{
		"operationId": o.Name,
		"summary":     strings.TrimSuffix(o.Summary, "."),
		"description": o.Summary + " " + accessDescriptions[o.Access],
		"security":    securityRequirements(o.Access),
		"parameters":  s.operationParameters(o, in),
		"responses":   s.operationResponses(o),
	}
	if body := requestBody(o, in); body != nil {
		out["requestBody"] = body
	}
	if slices.ContainsFunc(deprecations, func(d Deprecation) bool { return d.Field == "" }) {
		out["deprecated"] = true
	}
	return out
}

// requestBody describes the fields of the body in one closed object, or nothing where there are none. A PATCH needs a
// field.
func requestBody(o *op.Op, schema *jsonschema.Schema) jsonObject {
	in := *schema
	in.Properties, in.Required, in.PropertyOrder = map[string]*jsonschema.Schema{}, nil, nil
	for _, f := range o.Fields() {
		if f.Location != op.InBody {
			continue
		}
		in.Properties[f.Name] = withoutTitles(schema.Properties[f.Name])
		in.PropertyOrder = append(in.PropertyOrder, f.Name)
		if f.Required {
			in.Required = append(in.Required, f.Name)
		}
	}
	if len(in.Properties) == 0 {
		return nil
	}
	if o.Method == http.MethodPatch && in.Required == nil {
		in.MinProperties = jsonschema.Ptr(1)
	}
	return jsonObject{"required": in.Required != nil || in.MinProperties != nil, "content": jsonContent(&in)}
}

// withoutTitles returns a schema without the names of Go types.
func withoutTitles(s *jsonschema.Schema) *jsonschema.Schema {
	c := s.CloneSchemas()
	op.EachSchema(c, func(s *jsonschema.Schema) { s.Title = "" })
	return c
}

func jsonContent(schema any) jsonObject {
	return jsonObject{"application/json": jsonObject{"schema": schema}}
}

// successStatuses returns the statuses of success.
func successStatuses(o *op.Op) []int {
	switch {
	case o.Has(op.Accepts):
		return []int{http.StatusAccepted}
	case o.Has(op.Creates):
		return []int{http.StatusCreated}
	case o.Has(op.MayCreate):
		return []int{http.StatusOK, http.StatusCreated}
	}
	return []int{http.StatusOK}
}

// operationResponses describes every response of an operation.
func (s *openAPIBuilder) operationResponses(o *op.Op) jsonObject {
	_, t := o.Types()
	out := jsonObject{"default": s.errorResponse(0)}
	for _, status := range errorStatuses {
		out[strconv.Itoa(status)] = s.errorResponse(status)
	}
	headers := s.responseHeaders(o, t)
	schema := op.WithRefs(markDeprecated(o.OutputSchema(), s.deprecations(o)), schemaPrefix, s.schemas)
	if o.Streams {
		out["200"] = jsonObject{"description": "Events, as long as the client stays", "headers": headers,
			"content": jsonObject{
				"text/event-stream": jsonObject{"schema": jsonObject{"type": "string",
					"description":   "Server-Sent Events; the data of each is one JSON object",
					"contentSchema": schema}},
			}}
		return out
	}
	for _, status := range successStatuses(o) {
		out[strconv.Itoa(status)] = jsonObject{"description": statusDescriptions[status], "headers": headers,
			"content": jsonContent(schema)}
	}
	if o.Has(op.IfMatch) {
		out["412"] = s.errorResponse(http.StatusPreconditionFailed)
	}
	if acceptsIfNoneMatch(o, t) {
		out["304"] = jsonObject{"description": "Not changed since the tag in If-None-Match",
			"headers": jsonObject{"ETag": s.headerRef("ETag")}}
	}
	return out
}

const schemaPrefix = "#/components/schemas/"

var statusDescriptions = map[int]string{http.StatusOK: "Done", http.StatusCreated: "Made",
	http.StatusAccepted: "Accepted"}

// acceptsIfNoneMatch reports whether an operation supports If-None-Match.
func acceptsIfNoneMatch(o *op.Op, t reflect.Type) bool {
	_, ok := reflect.Zero(t).Interface().(op.Tagged)
	return ok && o.Method == http.MethodGet
}
