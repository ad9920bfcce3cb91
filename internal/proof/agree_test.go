package proof_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
)

// An example is one call that every door answers alike.
type example struct {
	question
	name  string
	as    proof.Caller
	code  loci.Code // "" is success
	args  func(s scene) args
	call  func(s scene, c *op.Call) // what travels beside the fields
	loose bool                      // the message names fields, which depends on where they travel
	tight bool
	empty bool
}

// examples are one success and every documented refusal of an operation.
func examples(t *testing.T, o *op.Op) []example {
	f := fixtureOf(t, o.Name)
	list := []example{{name: "success", as: proof.Owner, args: f.args, empty: f.empty}}
	for _, who := range proof.Callers {
		if code := expected(o, who); code != "" {
			plain := who == proof.Nobody || who == proof.Revoked || who == proof.Member
			list = append(list, example{name: "as " + string(who), as: who, code: code, args: f.args, question: question{repeated: !plain}})
		}
	}
	for _, name := range f.names {
		change := func(s scene) args { return with(f.args(s), args{name: loci.NewID(time.Now())}) }
		list = append(list, example{name: "unknown " + name, as: proof.Owner, code: loci.NotFound, args: change})
		ill := func(s scene) args { return with(f.args(s), args{name: "no-id"}) }
		list = append(list, example{name: "ill-formed " + name, as: proof.Owner, code: loci.NotFound, args: ill, question: question{repeated: true}})
	}
	list = append(list, shapes(o, f)...)
	for _, r := range f.also {
		e := example{name: r.name, as: proof.Owner, code: r.code, args: r.args, tight: r.tight, empty: f.empty}
		if e.head = r.ifMatch != ""; e.head {
			e.call = func(_ scene, c *op.Call) { c.IfMatch = r.ifMatch }
		}
		list = append(list, e)
	}
	if o.Method == "POST" && o.Access != op.Public {
		list = append(list, example{name: "key of another call", as: proof.Owner, code: loci.IdempotencyConflict, args: f.args, question: question{head: true}, call: usedKey})
	}
	return list
}

// usedKey gives the call an Idempotency-Key that another one had.
func usedKey(s scene, c *op.Call) {
	c.IdempotencyKey = fresh("key")
	before := *c
	_, err := s.Host.Call(s.t.Context(), service.KeyCreate.Op, &before, op.Args{JSON: []byte(`{"name":"` + fresh("k") + `"}`)})
	if err != nil {
		s.t.Fatal(err)
	}
}

// shapes are the refusals of what an operation does not understand.
func shapes(o *op.Op, f fixture) (list []example) {
	change := func(name string, v any) func(scene) args {
		return func(s scene) args {
			in := with(f.args(s), args{name: v})
			if v == nil {
				delete(in, name)
			}
			return in
		}
	}
	bad := func(name string, make func(scene) args, words, loose bool) {
		list = append(list, example{name: name, as: proof.Owner, code: loci.InvalidQuery, args: make, loose: loose, question: question{words: words}, empty: f.empty})
	}
	bad("unknown field", change("zzzzzz", "x"), true, true)
	typed := false
	for _, field := range o.Fields() {
		if field.Required && field.Place != op.InPath {
			bad("no "+field.Name, change(field.Name, nil), field.Name == "query", false)
		}
		if !typed && field.Place != op.InPath && field.Type != "string" && !field.List {
			typed = true
			bad(field.Name+" of another type", change(field.Name, "many"), field.Type == "object", field.Place == op.InQuery)
		}
	}
	return list
}

// tight is a plan whose places are all taken by the people of a world.
var tight = loci.Plan{Name: loci.Free, Operations: 1e6, Storage: 1 << 30, Teams: 2, Atlases: 1}

func TestDoorsAgree(t *testing.T) {
	t.Parallel()
	for _, o := range service.Ops.Ops {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			h := open(t, proof.New(t, proof.SQLite, proof.Options{}))
			for _, e := range examples(t, o) {
				at := h
				if e.tight {
					at = open(t, proof.New(t, proof.SQLite, proof.Options{Plan: tight}))
				}
				agree(t, at, o, e)
			}
		})
	}
}

// agree asks every door and holds its answer to that of the host itself.
func agree(t *testing.T, h *house, o *op.Op, e example) {
	t.Helper()
	var first answer
	for _, w := range ways {
		at := h
		if e.empty {
			at = open(t, proof.Empty(t, proof.SQLite, proof.Options{}))
		}
		s := scene{at.World, t}
		e.in = e.args(s)
		if !w.has(o, e.question) {
			continue
		}
		c := at.Call(e.as)
		if e.call != nil {
			e.call(s, c)
		}
		a := w.call(at, o, c, e.in)
		if a.code() != e.code {
			t.Errorf("%s, %s: %s answers %q, want %q: %v", o.Name, e.name, w.name, a.code(), e.code, a.object)
		}
		if a.status != 0 && e.code != "" && a.status != e.code.Status() {
			t.Errorf("%s, %s: status %d", o.Name, e.name, a.status)
		}
		if first.object == nil {
			first = a
		}
		expected := first.object
		if w.name == "tool" || w.name == "pipe" {
			expected = inBrief(o.Name, expected)
		}
		got, want := essence(t, a.object, e.loose), essence(t, expected, e.loose)
		if got != want {
			t.Errorf("%s, %s: %s answers\n%s\nand the host\n%s", o.Name, e.name, w.name, got, want)
		}
	}
}

// inBrief returns an answer as a tool shows it: lists of memories without what
// says nothing to an agent.
func inBrief(name string, object args) args {
	out := with(object, nil)
	short := func(list any, without ...string) any {
		records, _ := list.([]any)
		brief := make([]any, len(records))
		for i := range records {
			record := with(records[i].(args), nil)
			for _, name := range append(without, "workspaceId", "version", "createdBy", "createdAt", "source", "verifiedBy", "evidence", "confidence",
				"validUntil", "supersedes", "archivedAt", "highlights") {
				delete(record, name)
			}
			for name, usual := range (args{"type": "note", "status": "active", "tags": []any{}}) {
				if reflect.DeepEqual(record[name], usual) {
					delete(record, name)
				}
			}
			brief[i] = record
		}
		return brief
	}
	switch {
	case object["code"] != nil: // a refusal is told whole
	case name == "memory.list":
		out["memories"] = short(object["memories"])
	case name == "memory.search":
		out["memories"], out["meta"] = short(object["memories"]), args{"requestedMode": object["meta"].(args)["requestedMode"]}
	case name == "memory.context":
		groups := []any{}
		for _, g := range object["groups"].([]any) {
			groups = append(groups, args{"type": g.(args)["type"], "memories": short(g.(args)["memories"], "title", "content", "type")})
		}
		out["groups"] = groups
	}
	return out
}

var (
	anID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	aTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	aKey     = regexp.MustCompile(`(loci_live_|token=)[0-9A-Za-z]{43}`)
	aCounter = regexp.MustCompile(`(guest|new|walker|rope)\d{6}`)
)

// essence writes an object without what differs from call to call: ids become
// numbers in the order in which they appear.
func essence(t testing.TB, object args, loose bool) string {
	t.Helper()
	b := string(proof.Must(json.Marshal(volatile("", object, loose)))(t))
	seen := map[string]string{}
	b = anID.ReplaceAllStringFunc(b, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("id-%d", len(seen)+1)
		}
		return seen[id]
	})
	return aCounter.ReplaceAllString(aKey.ReplaceAllString(aTime.ReplaceAllString(b, "time"), "key"), "$1")
}

// volatile replaces the values of fields that are never twice the same.
func volatile(name string, v any, loose bool) any {
	switch v := v.(type) {
	case args:
		out := args{}
		for name, inner := range v {
			if name != "requestId" && name != "lastUsedAt" && (!loose || name != "message") {
				out[name] = volatile(name, inner, loose)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = volatile(name, v[i], loose)
		}
		return out
	}
	switch {
	case name == "nextCursor" || name == "cache" || name == "prefix" || name == "used" || strings.HasSuffix(name, "Ms"):
		return name
	}
	return v
}

func TestGeneratedMethodsAnswerAsTheHost(t *testing.T) {
	t.Parallel()
	h := open(t, proof.New(t, proof.SQLite, proof.Options{}))
	for _, o := range service.Ops.Ops {
		if o.Reach == op.Browser {
			continue
		}
		f := fixtureOf(t, o.Name)
		want := host(h, o, h.Call(proof.Owner), f.args(scene{h.World, t}))
		got := generated(h, o, f.args(scene{h.World, t}))
		delete(want.object, "ok")
		if a, b := essence(t, got, false), essence(t, want.object, false); a != b {
			t.Errorf("%s: the method answers\n%s\nand the host\n%s", o.Name, a, b)
		}
	}
}

// generated calls the method of the Go client that an operation has: memory.get
// is MemoryGet.
func generated(h *house, o *op.Op, in args) args {
	h.t.Helper()
	resource, verb, _ := strings.Cut(o.Name, ".")
	name := strings.ToUpper(resource[:1]) + resource[1:] + strings.ToUpper(verb[:1]) + verb[1:]
	m := reflect.ValueOf(h.client(h.Call(proof.Owner))).MethodByName(name)
	if !m.IsValid() {
		h.t.Fatalf("the client has no %s: go generate ./client", name)
	}
	given := []reflect.Value{reflect.ValueOf(h.t.Context())}
	if typ, _ := o.Types(); typ.NumField() > 0 {
		input := reflect.New(typ)
		if err := json.Unmarshal(proof.Must(json.Marshal(in))(h.t), input.Interface()); err != nil {
			h.t.Fatal(err)
		}
		given = append(given, input.Elem())
	}
	out := m.Call(given)
	if err, _ := out[1].Interface().(error); err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	return h.answer(json.Marshal(out[0].Interface())).object
}
