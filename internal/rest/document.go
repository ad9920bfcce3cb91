package rest

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// An object is a JSON object of the document. Its keys are written in order,
// so that equal tables give equal bytes.
type object = map[string]any

// A writer makes the OpenAPI 3.1 document. Components are listed once
// something refers to them.
type writer struct {
	cookie     string
	paths      object
	tags       map[string]string
	parameters object
	headers    object
	responses  object
	schemas    map[string]*jsonschema.Schema
}

// document describes the operations and the routes.
func (d *door) document(routes []Route) []byte {
	s := &writer{cookieName(securePublicly(d.PublicURL)), object{}, map[string]string{}, object{}, object{}, object{},
		map[string]*jsonschema.Schema{"Error": errorSchema()}}
	for _, o := range d.Table.Ops {
		s.add(o.Method, o.Path, s.operation(o))
	}
	for _, r := range routes {
		method, path, ok := strings.Cut(r.Pattern, " ")
		if r.Describe != nil && ok {
			s.add(method, path, s.route(r.Describe))
		}
	}
	b, err := json.Marshal(s.whole(d.PublicURL, d.ServiceVersion))
	if err != nil {
		panic("rest: " + err.Error())
	}
	return b
}

// add lists an operation object; its id is "resource.verb", its tag the resource.
func (s *writer) add(method, path string, described object) {
	if s.paths[path] == nil {
		s.paths[path] = object{}
	}
	s.paths[path].(object)[strings.ToLower(method)] = described
	id, _ := described["operationId"].(string)
	tag, _, _ := strings.Cut(id, ".")
	described["tags"] = []string{tag}
	s.tags[tag] = "Operations whose names begin with " + tag + "."
}

func (s *writer) whole(url, serviceVersion string) object {
	if url == "" {
		url = "/"
	}
	info := object{
		"title": "Loci", "version": Version,
		"summary":     "Durable memory for people and their agents",
		"description": "Memories are Markdown, belong to an atlas, and an atlas belongs to a workspace. Programs decide by the `code` of an error, never by its message. Fields may be added within /v1.",
		"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		"contact":     object{"name": "Loci", "url": "https://github.com/loci-memory/loci"},
	}
	if serviceVersion != "" {
		info["x-service-version"] = serviceVersion
	}
	return object{
		"openapi": "3.1.0",
		"info":    info,
		"servers": []object{{"url": url}},
		"tags":    s.tagList(),
		"paths":   s.paths,
		"components": object{
			"schemas": s.schemas, "parameters": s.parameters, "headers": s.headers, "responses": s.responses,
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer", "description": "An API key (" + loci.KeyPrefix + "...) or an access token"},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": s.cookie, "description": "A signed-in browser"},
			},
		},
	}
}

func (s *writer) tagList() []object {
	var list []object
	for _, name := range sorted(s.tags) {
		list = append(list, object{"name": name, "description": s.tags[name]})
	}
	return list
}

// security says which credentials an operation takes.
func security(a op.Access) []object {
	switch a {
	case op.Public:
		return []object{}
	case op.Agent:
		return []object{{"bearer": []string{}}}
	}
	return []object{{"bearer": []string{}}, {"cookie": []string{}}}
}

var accessWords = map[op.Access]string{
	op.Public:  "It needs no credential.",
	op.Account: "It takes any credential.",
	op.Person:  "It takes an API key or a signed-in browser, never an access token.",
	op.Agent:   "It takes an API key together with X-Loci-Actor: agent.",
}

func (s *writer) operation(o *op.Op) object {
	out := object{
		"operationId": o.Name,
		"summary":     strings.TrimSuffix(o.Summary, "."),
		"description": o.Summary + " " + accessWords[o.Access],
		"security":    security(o.Access),
		"parameters":  s.parametersOf(o),
		"responses":   s.responsesOf(o),
	}
	if body := bodyOf(o); body != nil {
		out["requestBody"] = body
	}
	return out
}

// bodyOf describes the fields of the body in one closed object, or nothing
// where there are none.
func bodyOf(o *op.Op) object {
	in := *o.In()
	in.Properties, in.Required, in.PropertyOrder = map[string]*jsonschema.Schema{}, nil, nil
	for _, f := range o.Fields() {
		if f.Place != op.InBody {
			continue
		}
		in.Properties[f.Name] = untitled(o.In().Properties[f.Name])
		in.PropertyOrder = append(in.PropertyOrder, f.Name)
		if f.Required {
			in.Required = append(in.Required, f.Name)
		}
	}
	if len(in.Properties) == 0 {
		return nil
	}
	return object{"required": in.Required != nil, "content": jsonOf(&in)}
}

// untitled returns a schema without the names of Go types.
func untitled(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	c := s.CloneSchemas()
	c.Title = ""
	c.Items = untitled(c.Items)
	for name, p := range c.Properties {
		c.Properties[name] = untitled(p)
	}
	return c
}

func jsonOf(schema any) object { return object{"application/json": object{"schema": schema}} }

// statuses returns the statuses of success. An output that says whether
// something was made knows it by a field of its own that is not on the wire;
// without one it says the same each time.
func statuses(t reflect.Type) []int {
	made, ok := reflect.Zero(t).Interface().(op.Created)
	if !ok {
		return []int{http.StatusOK}
	}
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return []int{http.StatusOK, http.StatusCreated}
		}
	}
	if made.Created() {
		return []int{http.StatusCreated}
	}
	return []int{http.StatusOK}
}

// responsesOf describes every answer of an operation.
func (s *writer) responsesOf(o *op.Op) object {
	_, t := o.Types()
	out := object{"default": s.failure(0)}
	for _, status := range failures {
		out[strconv.Itoa(status)] = s.failure(status)
	}
	headers := s.headersOf(o, t)
	if o.Streams {
		out["200"] = object{"description": "Events, as long as the client stays", "headers": headers, "content": object{
			"text/event-stream": object{"schema": object{"type": "string", "description": "Server-Sent Events; the data of each is one JSON object",
				"contentSchema": op.WithRefs(o.Out(), schemaPrefix, s.schemas)}},
		}}
		return out
	}
	for _, status := range statuses(t) {
		out[strconv.Itoa(status)] = object{"description": meaning[status], "headers": headers, "content": jsonOf(op.WithRefs(o.Out(), schemaPrefix, s.schemas))}
	}
	if o.Method == http.MethodPatch {
		out["412"] = s.failure(http.StatusPreconditionFailed)
	}
	if tagged(o, t) {
		out["304"] = object{"description": "Not changed since the tag in If-None-Match", "headers": object{"ETag": s.header("ETag")}}
	}
	return out
}

const schemaPrefix = "#/components/schemas/"

var meaning = map[int]string{http.StatusOK: "Done", http.StatusCreated: "Made"}

// tagged reports whether an operation answers If-None-Match.
func tagged(o *op.Op, t reflect.Type) bool {
	_, ok := reflect.Zero(t).Interface().(op.Tagged)
	return ok && o.Method == http.MethodGet
}
