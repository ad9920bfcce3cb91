// Package op has the operation table. Everything that the service can do is an Op: a named, typed operation in a Table.
// REST, MCP, the commands and the Go client are transports of the same Table. None of them knows the service, and this
// package knows no operation.
package op

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
)

// Access is the credential that an Op requires. The store decides which records
// the caller may touch. The zero Access is a programming error: Add panics on it.
type Access int

// The access words.
const (
	_       Access = iota
	Public         // no credential
	Account        // any valid credential
	Person         // a cookie or an API key: a narrowed token must not widen itself
	Agent          // an API key that names a trusted agent as its actor
	File           // over REST a file token, and nothing else; elsewhere any valid credential
)

func (a Access) String() string {
	return [...]string{"", "public", "account", "person", "agent", "file"}[a]
}

// Takes reports whether operations of this access take a kind of credential over a transport. A file token is good for
// files over REST, and for nothing else.
func (a Access) Takes(kind identity.CredentialKind, transport string) bool {
	return (kind == identity.CredentialFile) == (a == File && transport == TransportREST)
}

// A Toolset is a set of MCP tools that a client chooses by name.
type Toolset string

// The sets of tools.
const (
	CoreTools   Toolset = "core"
	StableTools Toolset = "stable"
	FullTools   Toolset = "full"
)

// Toolsets are the sets of MCP tools, the smallest first.
var Toolsets = []Toolset{CoreTools, StableTools, FullTools}

// ParseToolset returns the set of tools of that name.
func ParseToolset(name string) (Toolset, error) {
	if !slices.Contains(Toolsets, Toolset(name)) {
		return "", fmt.Errorf("must be one of %s", strings.Join(ToolsetNames(), ", "))
	}
	return Toolset(name), nil
}

// ToolsetNames returns the names of Toolsets.
func ToolsetNames() (names []string) {
	for _, set := range Toolsets {
		names = append(names, string(set))
	}
	return names
}

// Exposure lists the transports of an Op beside REST, and the sets of MCP tools that contain it.
type Exposure int

// The exposures.
const (
	_              Exposure = iota
	BrowserOnly             // REST only: it answers with a cookie
	NoTool                  // REST, the Go client and the commands
	ToolFull                // an MCP tool of the full set
	ToolStableOnly          // of the stable set: the full set has another tool in its place
	ToolStable              // of the stable and the full set
	ToolCore                // of all sets
)

// Toolsets returns the sets that contain an operation of this exposure.
func (e Exposure) Toolsets() []Toolset {
	return [...][]Toolset{ToolFull: {FullTools}, ToolStableOnly: {StableTools}, ToolStable: {StableTools, FullTools},
		ToolCore: Toolsets}[e]
}

// A Trait is a property of an Op that its method and types do not show.
type Trait uint

// The traits.
const (
	Read        Trait = 1 << iota // a POST that changes nothing: its question needs a body
	IfMatch                       // accepts the entity tag of the record that it changes
	Destructive                   // cannot be undone
	Creates                       // always creates a record
	MayCreate                     // creates a record or returns one that exists: its output embeds loci.Creation
	Accepts                       // takes something for later: every answer is 202, that of a repetition too
	OverQuota                     // allowed over the monthly quota: what ends a credential, or enlarges the plan
	ServerOnly                    // a database on the own device, without passwords and other people, refuses it
	Idempotent                    // a POST whose repetition has no further effect
	ChangesPlan                   // its caller may have another plan afterwards: the answer states the quota of that
)

// An Op is one operation of the service, its types erased.
type Op struct {
	Name     string // "memory.create": operationId, tool and command
	Method   string
	Path     string // a net/http pattern; {memoryId} is the field of that JSON name
	Pattern  string // Path, with ?name,name for fields of the query where the others are in the body
	Summary  string // one line: it is the tool's whole description
	Access   Access
	Exposure Exposure
	Streams  bool // Out is one event
	ReadOnly bool // it changes nothing
	Paged    bool // In embeds loci.Paging: it answers page by page
	traits   Trait

	inputWorkspaceField, outputWorkspaceField []int // indexes of a workspace's id, for the log

	input        *inputSpec
	inType       reflect.Type
	outType      reflect.Type
	schemas      *schemaCache
	schemaOnce   sync.Once
	inputSchema  *jsonschema.Schema
	outputSchema *jsonschema.Schema

	run func(ctx context.Context, svc any, actor *identity.Actor, in any, send sender) (any, error)
}

// TypedOp is an Op together with its types.
type TypedOp[In, Out any] struct{ *Op }

// A Table lists operations in the order in which they are documented.
type Table struct {
	Ops     []*Op
	variant Variant
	schemas schemaCache
}

// Op returns the operation of that name, or nil.
func (t *Table) Op(name string) *Op {
	for _, o := range t.Ops {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// A sender is Call.Send.
type sender = func(event any) (more bool, err error)

// Add puts an operation into the table. route is "METHOD /path" or, for a method with a body, "METHOD /path?name,name"
// with fields of the query. do is a method expression, from which the types are inferred. An invalid line is a
// programming error, and Add panics.
func Add[S, In, Out any](t *Table, name, route, summary string, access Access, exposure Exposure,
	do func(S, context.Context, *identity.Actor, In) (Out, error), traits ...Trait) TypedOp[In, Out] {
	o := define[In, Out](t, name, route, summary, access, exposure, traits)
	o.run = func(ctx context.Context, svc any, actor *identity.Actor, in any, _ sender) (any, error) {
		return do(svc.(S), ctx, actor, *in.(*In))
	}
	return TypedOp[In, Out]{o}
}

// AddStream adds an operation that answers with events. Run sends them until
// they end, the client leaves or the server closes.
func AddStream[S, In, Event any](t *Table, name, route, summary string, access Access, exposure Exposure,
	do func(S, context.Context, *identity.Actor, In) (iter.Seq2[Event, error], error),
	traits ...Trait) TypedOp[In, Event] {
	o := define[In, Event](t, name, route, summary, access, exposure, traits)
	o.Streams = true
	o.run = func(ctx context.Context, svc any, actor *identity.Actor, in any, send sender) (any, error) {
		events, err := do(svc.(S), ctx, actor, *in.(*In))
		if err != nil || send == nil {
			return nil, err
		}
		for e, err := range events {
			if ctx.Err() != nil { // the client has left, or the server closes
				return nil, nil
			}
			more := false
			if err == nil {
				more, err = send(e)
			}
			if err != nil || !more {
				return nil, err
			}
		}
		return nil, nil
	}
	return TypedOp[In, Event]{o}
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func define[In, Out any](t *Table, name, route, summary string, access Access, exposure Exposure, traits []Trait) *Op {
	method, pattern, ok := strings.Cut(route, " ")
	path, query, hasQuery := strings.Cut(pattern, "?")
	if !ok || access == 0 || exposure == 0 || summary == "" || !strings.Contains(name, ".") || t.Op(name) != nil {
		panic(fmt.Sprintf("op %q: a new name, route, summary, access and exposure are needed", name))
	}
	o := &Op{Name: name, Method: method, Path: path, Pattern: pattern, Summary: summary, Access: access,
		Exposure: exposure, ReadOnly: method == "GET", inType: reflect.TypeFor[In](), outType: reflect.TypeFor[Out](),
		schemas: &t.schemas}
	o.input = newInputSpec(o.inType)
	o.Paged = embeds(o.inType, reflect.TypeFor[loci.Paging]())
	if o.Paged != embeds(o.outType, reflect.TypeFor[loci.Page]()) {
		panic(fmt.Sprintf("op %s: Paging in the input and Page in the output belong together", name))
	}
	o.inputWorkspaceField, o.outputWorkspaceField = workspaceField(o.inType), workspaceField(o.outType)
	for _, m := range pathParam.FindAllStringSubmatch(path, -1) {
		f := o.input.field(m[1])
		if f == nil || f.Resource == "" {
			panic(fmt.Sprintf("op %s: no id field for {%s}", name, m[1]))
		}
		f.Location, f.Required = InPath, true
	}
	if hasQuery {
		o.setInQuery(strings.Split(query, ","))
	}
	for i := range o.input.fields {
		if f := &o.input.fields[i]; f.Location == "" {
			f.Location = o.defaultLocation()
		}
	}
	for _, trait := range traits {
		o.traits |= trait
	}
	o.ReadOnly = o.ReadOnly || o.Has(Read)
	o.checkTraits()
	t.Ops = append(t.Ops, o)
	return o
}

// setInQuery puts the fields of these names into the query. It panics on a method without a body, or an unknown field.
func (o *Op) setInQuery(names []string) {
	for _, name := range names {
		f := o.input.field(name)
		if f == nil || f.Location != "" || o.defaultLocation() != InBody {
			panic(fmt.Sprintf("op %s: %q is no field that moves from the body to the query", o.Name, name))
		}
		f.Location = InQuery
	}
}

// Has reports whether the line of the operation states a trait.
func (o *Op) Has(t Trait) bool { return o.traits&t != 0 }

// Status returns the HTTP status of a successful answer.
func (o *Op) Status(out any) int {
	made, ok := out.(Created)
	switch {
	case o.Has(Accepts):
		return 202
	case o.Has(Creates), ok && made.Created():
		return 201
	}
	return 200
}

// AcceptsIdempotencyKey reports whether an Idempotency-Key has an effect.
func (o *Op) AcceptsIdempotencyKey() bool { return o.Method == "POST" && o.Access != Public }

// checkTraits panics on traits that contradict each other, the route or the output.
func (o *Op) checkTraits() {
	_, mayCreate := reflect.Zero(o.outType).Interface().(Created)
	switch {
	case o.Has(Read) && o.Method != "POST":
		panic(fmt.Sprintf("op %s: Read is for a POST", o.Name))
	case o.ReadOnly && o.Has(IfMatch|Destructive|Creates|MayCreate|Accepts):
		panic(fmt.Sprintf("op %s: it changes nothing", o.Name))
	case o.Has(IfMatch) && !pathParam.MatchString(o.Path):
		panic(fmt.Sprintf("op %s: IfMatch without a record in the path", o.Name))
	case o.Has(Accepts) && (o.Has(Creates|MayCreate) || o.Streams):
		panic(fmt.Sprintf("op %s: an answer is 202, or it creates a record", o.Name))
	case o.Has(Creates) && mayCreate, mayCreate != o.Has(MayCreate):
		panic(fmt.Sprintf("op %s: state MayCreate where the output has Created(), else Creates", o.Name))
	}
}

// embeds reports whether the struct outer embeds inner.
func embeds(outer, inner reflect.Type) bool {
	if outer.Kind() != reflect.Struct {
		return false
	}
	f, ok := outer.FieldByName(inner.Name())
	return ok && f.Anonymous && f.Type == inner
}

// A Location is the part of an HTTP request with a field. There are no tags for it: the route names the path fields and
// the query fields of a method with a body, the method decides the rest.
type Location string

// The locations.
const (
	InPath  Location = "path"
	InQuery Location = "query"
	InBody  Location = "body"
)

func (o *Op) defaultLocation() Location {
	if o.Method == "GET" || o.Method == "DELETE" {
		return InQuery
	}
	return InBody
}

// A Field is one field of an operation's input, for transports other than JSON.
type Field struct {
	Name        string
	Location    Location
	Required    bool
	Resource    string // of the record whose id it is; empty for other fields
	List        bool   // a list: in texts it is written as SplitList reads it
	Type        string // of the value or of an item, in the words of JSON Schema
	Enum        []string
	Format      string // of a string, in the words of JSON Schema
	Instant     bool   // a time, or a date
	EndOfDay    bool   // of an instant: a date means the end of its day
	MaxLength   int    // of a string, in characters; 0 is unbounded
	Min, Max    int64  // bounds of an integer, where Max > 0
	Default     any    // the value of an absent field, if the service has one
	Description string
	ToolDefault int     // the value that a tool sends for an absent integer, if not 0
	Fields      []Field // of an object that is no item of a list
}

// Fields lists the input's fields, in order.
func (o *Op) Fields() []Field { return o.input.describeFields() }

func (p *inputSpec) describeFields() []Field {
	out := make([]Field, len(p.fields))
	for i := range p.fields {
		out[i] = p.fields[i].Field
	}
	return out
}

// Types returns the Go types of the input and of the output, or of one event.
func (o *Op) Types() (in, out reflect.Type) { return o.inType, o.outType }

// InputSchema returns the JSON Schema of the input. Schemas are made on first
// use: most commands never need them, and start at once.
func (o *Op) InputSchema() *jsonschema.Schema {
	o.buildSchemas()
	return o.inputSchema
}

// OutputSchema returns the JSON Schema of the output, or of one event.
func (o *Op) OutputSchema() *jsonschema.Schema {
	o.buildSchemas()
	return o.outputSchema
}

func (o *Op) buildSchemas() {
	o.schemaOnce.Do(func() {
		o.schemas.Lock()
		defer o.schemas.Unlock()
		o.inputSchema, o.outputSchema = o.schemas.inputSchema(o.input), o.schemas.outputSchema(o.outType, o.Streams)
	})
}

// ToolName returns the operation's name as a tool: memory_create.
func (o *Op) ToolName() string { return strings.ReplaceAll(o.Name, ".", "_") }
