// Package op is the waist of Loci. Everything that the service can do is an
// Op: a named, typed operation in a Table. REST, MCP, the commands and the Go
// client are doors to the same Table; none of them knows what is behind it,
// and the waist knows no operation.
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
)

// Access says who may call an Op at all. What the caller may touch is the
// store's business. The zero Access is a mistake, and Add panics on it.
type Access int

// The access words.
const (
	_       Access = iota
	Public         // no credential
	Account        // any valid credential
	Person         // a cookie or an API key: a narrowed token must not widen itself
	Agent          // an API key that names a trusted agent as its actor
)

func (a Access) String() string {
	return [...]string{"", "public", "account", "person", "agent"}[a]
}

// Reach says which doors beside REST an Op has, and from which set of MCP
// tools on it is one.
type Reach int

// The reaches, each with what the one before it has.
const (
	_       Reach = iota
	Browser       // REST alone: what it answers is a cookie
	NoTool        // REST, the Go client and the commands
	Full          // an MCP tool of the full set
	Stable        // of the stable set
	Core          // of the core set
)

func (r Reach) String() string {
	return [...]string{"", "browser", "command", "full", "stable", "core"}[r]
}

// An Op is one thing that the service can do, its types erased.
type Op struct {
	Name    string // "memory.create": operationId, tool and command
	Method  string
	Path    string // a net/http pattern; {memoryId} is the field of that JSON name
	Summary string // one line: it is the tool's whole description
	Access  Access
	Reach   Reach
	Streams bool // Out is one event, and what Run returns is a Stream
	Reads   bool // it changes nothing
	Guarded bool // an If-Match holds it to the state that the caller knows

	workspaceIn, workspaceOut []int // places of a workspace's id, for the log

	in        *plan
	inType    reflect.Type
	outType   reflect.Type
	types     *schemas
	described sync.Once
	schemaIn  *jsonschema.Schema
	schemaOut *jsonschema.Schema

	run func(ctx context.Context, svc any, who *loci.Actor, in any) (any, error)
}

// Of is an Op together with its types.
type Of[In, Out any] struct{ *Op }

// A Table lists operations in the order in which they are documented.
type Table struct {
	Ops   []*Op
	types schemas
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

// Without returns the table without the operations of these names, and those.
func (t *Table) Without(names []string) (left *Table, out []*Op) {
	left = &Table{}
	for _, o := range t.Ops {
		if slices.Contains(names, o.Name) {
			out = append(out, o)
		} else {
			left.Ops = append(left.Ops, o)
		}
	}
	return left, out
}

// A Stream is what an Op that streams returns: its events, one after another,
// until the caller leaves.
type Stream = iter.Seq2[any, error]

// Add puts an operation into the table. route is "METHOD /path"; do is a
// method expression, from which the types are inferred. What is wrong with the
// line is a mistake of the program, and Add panics.
func Add[S, In, Out any](t *Table, name, route, summary string, access Access, reach Reach, do func(S, context.Context, *loci.Actor, In) (Out, error)) Of[In, Out] {
	o := define[In, Out](t, name, route, summary, access, reach)
	o.run = func(ctx context.Context, svc any, who *loci.Actor, in any) (any, error) {
		return do(svc.(S), ctx, who, *in.(*In))
	}
	return Of[In, Out]{o}
}

// AddRead is Add for an operation that changes nothing, though its route is a
// POST, because its question needs a body.
func AddRead[S, In, Out any](t *Table, name, route, summary string, access Access, reach Reach, do func(S, context.Context, *loci.Actor, In) (Out, error)) Of[In, Out] {
	of := Add(t, name, route, summary, access, reach, do)
	of.Reads = true
	return of
}

// AddStream puts an operation into the table that answers with events.
func AddStream[S, In, Event any](t *Table, name, route, summary string, access Access, reach Reach, do func(S, context.Context, *loci.Actor, In) (iter.Seq2[Event, error], error)) Of[In, Event] {
	o := define[In, Event](t, name, route, summary, access, reach)
	o.Streams = true
	o.run = func(ctx context.Context, svc any, who *loci.Actor, in any) (any, error) {
		events, err := do(svc.(S), ctx, who, *in.(*In))
		if err != nil {
			return nil, err
		}
		return Stream(func(yield func(any, error) bool) {
			for e, err := range events {
				if !yield(e, err) {
					return
				}
			}
		}), nil
	}
	return Of[In, Event]{o}
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func define[In, Out any](t *Table, name, route, summary string, access Access, reach Reach) *Op {
	method, path, ok := strings.Cut(route, " ")
	if !ok || access == 0 || reach == 0 || summary == "" || !strings.Contains(name, ".") || t.Op(name) != nil {
		panic(fmt.Sprintf("op %q: a new name, route, summary, access and reach are needed", name))
	}
	o := &Op{Name: name, Method: method, Path: path, Summary: summary, Access: access, Reach: reach, Reads: method == "GET", inType: reflect.TypeFor[In](), outType: reflect.TypeFor[Out](), types: &t.types}
	o.in = newPlan(o.inType)
	o.workspaceIn, o.workspaceOut = workspacePath(o.inType), workspacePath(o.outType)
	for _, m := range placeholder.FindAllStringSubmatch(path, -1) {
		f := o.in.field(m[1])
		if f == nil || f.plan.kind != textKind {
			panic(fmt.Sprintf("op %s: no text field for {%s}", name, m[1]))
		}
		f.place, f.required = InPath, true
	}
	for i := range o.in.fields {
		if f := &o.in.fields[i]; f.place == "" {
			f.place = o.rest()
		}
	}
	o.Guarded = t.guards(o)
	t.Ops = append(t.Ops, o)
	return o
}

// guards tells whether o changes a record that has an entity tag: it answers
// with one, or removes what can be read.
func (t *Table) guards(o *Op) bool {
	_, tagged := reflect.Zero(o.outType).Interface().(Tagged)
	resource, _, _ := strings.Cut(o.Name, ".")
	return !o.Reads && placeholder.MatchString(o.Path) && (tagged || o.Method == "PATCH" || o.Method == "DELETE" && t.Op(resource+".get") != nil)
}

// A Place is the part of an HTTP request in which a field travels. There are
// no tags for it: the route names the path fields, the method decides the rest.
type Place string

// The places.
const (
	InPath  Place = "path"
	InQuery Place = "query"
	InBody  Place = "body"
)

func (o *Op) rest() Place {
	if o.Method == "GET" || o.Method == "DELETE" {
		return InQuery
	}
	return InBody
}

// A Field is one field of an operation's input, as doors other than JSON need it.
type Field struct {
	Name        string
	Place       Place
	Required    bool
	List        bool   // a list: in texts it is written as SplitList reads it
	Type        string // of the value or of an item, in the words of JSON Schema
	Enum        []string
	Description string
	ToolDefault int     // what a tool sends in place of an absent integer, where not 0
	Fields      []Field // of an object that is no item of a list
}

// Fields lists the input's fields, in order.
func (o *Op) Fields() []Field { return o.in.list() }

func (p *plan) list() []Field {
	out := make([]Field, 0, len(p.fields))
	for i := range p.fields {
		f := &p.fields[i]
		value, inner := f.plan, f.plan.list()
		if value.kind == listKind {
			value = value.elem
		}
		description := f.description
		if description == "" {
			description = f.plan.rule.Description
		}
		out = append(out, Field{f.name, f.place, f.required, f.plan.kind == listKind, value.kind.String(), value.rule.Enum, description, value.rule.ToolDefault, inner})
	}
	return out
}

// Types returns the Go types of the input and of the output, or of one event.
func (o *Op) Types() (in, out reflect.Type) { return o.inType, o.outType }

// In returns the JSON Schema of the input. Schemas are made when the first door
// asks for them: most commands never do, and start at once.
func (o *Op) In() *jsonschema.Schema {
	o.describe()
	return o.schemaIn
}

// Out returns the JSON Schema of the output, or of one event.
func (o *Op) Out() *jsonschema.Schema {
	o.describe()
	return o.schemaOut
}

func (o *Op) describe() {
	o.described.Do(func() {
		o.types.Lock()
		defer o.types.Unlock()
		o.schemaIn, o.schemaOut = o.types.input(o.in), o.types.output(o.outType)
	})
}

// Tool returns the operation's name as a tool: memory_create.
func (o *Op) Tool() string { return strings.ReplaceAll(o.Name, ".", "_") }
