package conformance_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// A testCase is one call that every transport answers alike.
type testCase struct {
	callShape
	name      string
	caller    conformance.Caller
	code      loci.Code // "" means success
	args      func(s testScene) args
	call      func(s testScene, c *op.Call) // sent beside the fields
	lenient   bool                          // the message depends on the transport: it names fields, or lists names
	exhausted bool
	fixture   fixture // names the world of its own that the call needs
}

// testCases returns one success and every documented error of an operation.
func testCases(t *testing.T, o *op.Op) []testCase {
	f := fixtureOf(t, o.Name)
	list := []testCase{{name: "success", caller: ownerOf(o), args: f.args, fixture: f}}
	for _, caller := range conformance.Callers {
		if code := expected(o, caller); code != "" {
			plain := caller == conformance.CallerNobody || caller == conformance.CallerRevoked ||
				caller == conformance.CallerMember && o.Access != op.Agent // a command for agents has no other caller
			list = append(list, testCase{name: "as " + string(caller), caller: caller, code: code, args: f.args,
				callShape: callShape{duplicate: !plain, tokenless: !slices.Contains(exchangeable, caller),
					noAgent: o.Access == op.Agent && code == loci.CodeForbidden}})
		}
	}
	for _, name := range f.names {
		change := func(s testScene) args { return mergeArgs(f.args(s), args{name: loci.NewID(time.Now())}) }
		list = append(list, testCase{name: "unknown " + name, caller: ownerOf(o), code: loci.CodeNotFound,
			args: change})
		ill := func(s testScene) args { return mergeArgs(f.args(s), args{name: "no-id"}) }
		list = append(list, testCase{name: "ill-formed " + name, caller: ownerOf(o),
			code: loci.CodeNotFound, args: ill, callShape: callShape{duplicate: true},
			lenient: slices.Contains([]string{"workspace", "atlas", "agent"}, resourceOf(o, name))})
	}
	list = append(list, generatedCases(o, f)...)
	for _, r := range f.refusals {
		e := testCase{name: r.name, caller: ownerOf(o), code: r.code, args: r.args, exhausted: r.exhausted,
			fixture: fixture{empty: f.empty}}
		if e.headers = r.ifMatch != ""; e.headers {
			e.call = func(_ testScene, c *op.Call) { c.IfMatch = r.ifMatch }
		}
		list = append(list, e)
	}
	if o.Method == "POST" && o.Access != op.Public {
		list = append(list, testCase{name: "key of another call", caller: ownerOf(o),
			code: loci.CodeIdempotencyConflict, args: f.args, callShape: callShape{headers: true},
			call: useIdempotencyKey})
	}
	return list
}

// exchangeable are the callers with a key, which REST exchanges for a file token, and the one without any credential.
var exchangeable = []conformance.Caller{conformance.CallerNobody, conformance.CallerStranger, conformance.CallerMember,
	conformance.CallerAdmin, conformance.CallerOwner, conformance.CallerAgent}

// useIdempotencyKey gives the call an Idempotency-Key of another call.
func useIdempotencyKey(s testScene, c *op.Call) {
	c.IdempotencyKey = uniqueText("key")
	before := *c
	testenv.Must(s.Host.Call(s.t.Context(), service.KeyCreate.Op, &before,
		op.Args{JSON: []byte(`{"name":"` + uniqueText("k") + `"}`)}))(s.t)
}

// generatedCases returns calls with invalid input.
func generatedCases(o *op.Op, f fixture) (list []testCase) {
	change := func(name string, v any) func(testScene) args {
		return func(s testScene) args {
			in := mergeArgs(f.args(s), args{name: v})
			if v == nil {
				delete(in, name)
			}
			return in
		}
	}
	bad := func(name string, make func(testScene) args, words, lenient bool) {
		list = append(list, testCase{name: name, caller: ownerOf(o), code: loci.CodeInvalidQuery,
			args: make, lenient: lenient, callShape: callShape{invalid: words},
			fixture: fixture{empty: f.empty}})
	}
	bad("unknown field", change("zzzzzz", "x"), true, true)
	typed := false
	for _, field := range o.Fields() {
		if field.Required && field.Location != op.InPath {
			// A command asks on its terminal in place of confirm, and agent list chooses the workspace.
			bad("no "+field.Name, change(field.Name, nil),
				field.Name == "query" || isConfirm(field) || o == service.AgentList.Op, false)
		}
		if !typed && field.Location != op.InPath && field.Type != "string" && !field.List {
			typed = true
			bad(field.Name+" of another type", change(field.Name, "many"), field.Type == "object",
				field.Location == op.InQuery)
		}
	}
	return list
}

// exhaustedPlan is a plan whose quotas the people of a world use up.
var exhaustedPlan = identity.Plan{Name: loci.PlanFree, Operations: 1e6, Storage: 1 << 30, Teams: 2, Atlases: 1}

func TestTransportsAgree(t *testing.T) {
	t.Parallel()
	for _, o := range service.Ops.Ops {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			options := conformance.Options{} // without mail, to show the links of invitations
			if fixtureOf(t, o.Name).mail {
				options = withMail
			}
			h := newTestServer(t, conformance.New(t, conformance.OpenSQLite, options))
			for _, e := range testCases(t, o) {
				at := h
				if e.exhausted {
					at = newTestServer(t, conformance.New(t, conformance.OpenSQLite,
						conformance.Options{Plan: exhaustedPlan}))
				}
				checkAgreement(t, at, o, e)
			}
		})
	}
}

// alone returns the server of the world that a fixture needs in place of h.
func (h *testServer) alone(f fixture) *testServer {
	if w := f.world(h.t, h.World, conformance.OpenSQLite); w != h.World {
		return newTestServer(h.t, w)
	}
	return h
}

// checkAgreement calls every transport and compares its answer with that of the host itself.
func checkAgreement(t *testing.T, h *testServer, o *op.Op, e testCase) {
	t.Helper()
	var first answer
	for _, w := range transports {
		at := h.alone(e.fixture)
		s := testScene{at.World, t}
		e.in = e.args(s)
		if !w.supports(o, e.callShape) {
			continue
		}
		c := at.Call(e.caller)
		if e.call != nil {
			e.call(s, c)
		}
		a := w.call(at, o, c, e.in)
		testenv.Equal(t, a.code(), e.code, o.Name, e.name, w.name, "answers", a.object)
		if a.status != 0 && e.code != "" && a.status != e.code.Status() {
			t.Errorf("%s, %s: status %d", o.Name, e.name, a.status)
		}
		if first.object == nil {
			first = a
		}
		expected := first.object
		if w.name == "tool" || w.name == "pipe" {
			expected = briefFields(o, expected)
			if e.code == loci.CodeNotFound { // a tool names the kind of the record
				expected = mergeArgs(expected, args{"message": a.object["message"]})
			}
			nameIDs(t, a.object)
		}
		if got, want := normalize(t, a.object, e.lenient), normalize(t, expected, e.lenient); got != want {
			t.Errorf("%s, %s: %s answers\n%s\nand the host\n%s", o.Name, e.name, w.name, got, want)
		}
	}
}

// writtenFields are the fields of a record that the answer of a writing tool shows, by the name of the record.
var writtenFields = map[string][]string{
	"memory": {"id", "atlasId", "title", "status", "version", "supersededBy", "unchanged", "routing", "duplicateOf",
		"similar"},
	"atlas": {"id", "workspaceId", "name", "status"}, "workspace": {"id", "name", "kind", "role", "status"},
	"session":    {"id", "atlasId", "task", "status", "archived", "memoryId", "counts"},
	"checkpoint": {"number"}, "candidate": {"id", "sessionId", "title", "status", "memoryId", "similar"},
	"message": {"id", "workspaceId", "threadId"},
}

// writtenRecord returns a record as the answer of a writing tool shows it.
func writtenRecord(name string, record any) any {
	whole, isRecord := record.(args)
	fields := writtenFields[name]
	if fields == nil || !isRecord {
		return record
	}
	out := args{}
	for _, field := range fields {
		if value, ok := whole[field]; ok {
			if text, ok := value.(string); ok && len(text) > 80 {
				value = text[:80]
			}
			out[field] = value
		}
	}
	return out
}

// nameIDs replaces the atlas of each written record by its id. It has a name.
func nameIDs(t *testing.T, object args) {
	t.Helper()
	for _, record := range object {
		record, _ := record.(args)
		atlas, _ := record["atlas"].(args)
		if record["atlas"] == nil || record["markdown"] != nil {
			continue
		}
		if name, _ := atlas["name"].(string); name == "" || len(atlas) != 2 {
			t.Errorf("the atlas is %v", atlas)
		}
		delete(record, "atlas")
		record["atlasId"] = atlas["id"]
	}
}

// wordLimits returns an answer with a word for each limit that the plan does not have.
func wordLimits(value any) any {
	object, ok := value.(args)
	if !ok {
		if fmt.Sprint(value) == strconv.Itoa(loci.Unlimited) {
			return "unlimited"
		}
		return value
	}
	out := args{}
	for name := range object {
		out[name] = wordLimits(object[name])
	}
	return out
}

// briefFields returns an answer as a tool shows it: its records without fields that agents do not need.
func briefFields(o *op.Op, object args) args {
	name, out := o.Name, mergeArgs(object, nil)
	if !o.ReadOnly && object["code"] == nil {
		for record := range object {
			out[record] = writtenRecord(record, object[record])
		}
		return out
	}
	short := func(record any, usual args, without ...string) any {
		brief := mergeArgs(record.(args), nil)
		for _, name := range without {
			delete(brief, name)
		}
		for name, value := range usual {
			if reflect.DeepEqual(brief[name], value) {
				delete(brief, name)
			}
		}
		return brief
	}
	each := func(list any, usual args, without ...string) any {
		records, _ := list.([]any)
		brief := make([]any, len(records))
		for i := range records {
			brief[i] = short(records[i], usual, without...)
		}
		return brief
	}
	memories := func(list any, without ...string) any {
		return each(list, args{"type": "note", "status": "active", "tags": []any{}},
			append(without, "workspaceId", "version", "createdBy", "createdAt", "source", "verifiedBy",
				"evidence", "confidence", "validUntil", "supersedes", "archivedAt", "titleDerived", "highlights")...)
	}
	candidates := func(list any) any {
		return each(list, args{"type": "note", "tags": []any{}, "similar": []any{}}, "unitId", "updatedAt")
	}
	usualSession := args{"kind": "manual", "archived": false}
	hiddenOfSession := []string{"title", "workspaceId", "externalId", "sourceName", "createdAt"}
	switch {
	case object["code"] != nil: // an error is complete
	case name == "account.status":
		return wordLimits(object).(args)
	case name == "agent.list":
		out["agents"] = each(object["agents"], args{"status": "active"},
			"workspaceIds", "keyId", "createdAt", "updatedAt")
	case name == "session.list":
		out["sessions"] = each(object["sessions"], usualSession, hiddenOfSession...)
	case name == "session.get":
		out["session"] = short(object["session"], usualSession, hiddenOfSession...)
		out["candidates"] = candidates(object["candidates"])
	case name == "session.candidates":
		out["candidates"] = candidates(object["candidates"])
	case name == "memory.list":
		out["memories"] = memories(object["memories"], "title")
	case name == "memory.search":
		meta := args{"requestedMode": object["meta"].(args)["requestedMode"]}
		if hint := object["meta"].(args)["hint"]; hint != nil {
			meta["hint"] = hint
		}
		out["memories"], out["meta"] = memories(object["memories"], "title"), meta
	case name == "memory.context":
		groups := []any{}
		for _, g := range object["groups"].([]any) {
			groups = append(groups, args{"type": g.(args)["type"],
				"memories": memories(g.(args)["memories"], "atlasId", "title", "content", "type", "tags", "updatedAt")})
		}
		out["groups"] = groups
	}
	return out
}

var (
	anID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	aTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	aKey     = regexp.MustCompile(`(loci_live_|token=)[0-9A-Za-z]{43}|eyJ[\w-]+\.[\w-]+\.[\w-]+`)
	signed   = regexp.MustCompile(`expires=\d+|signature=[\w-]{43}`)
	aCounter = regexp.MustCompile(`(guest|new|walker|rope|hemp|ext|ev)\d{6}`)
)

// normalize writes an object without the parts that differ from call to call:
// ids become numbers in the order of appearance.
func normalize(t testing.TB, object args, lenient bool) string {
	t.Helper()
	b := string(testenv.Must(json.Marshal(normalizeValue("", object, lenient)))(t))
	seen := map[string]string{}
	b = anID.ReplaceAllStringFunc(b, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("id-%d", len(seen)+1)
		}
		return seen[id]
	})
	b = signed.ReplaceAllString(b, "signed")
	return aCounter.ReplaceAllString(aKey.ReplaceAllString(aTime.ReplaceAllString(b, "time"), "key"), "$1")
}

// normalizeValue replaces the values of fields that always differ.
func normalizeValue(name string, v any, lenient bool) any {
	switch v := v.(type) {
	case args:
		out := args{}
		for name, inner := range v {
			if name != "requestId" && name != "lastUsedAt" && (!lenient || name != "message") {
				out[name] = normalizeValue(name, inner, lenient)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normalizeValue(name, v[i], lenient)
		}
		return out
	}
	switch {
	case name == "nextCursor" || name == "cache" || name == "prefix" || name == "used" || strings.HasSuffix(name, "Ms"):
		return name
	}
	return v
}

func TestGeneratedMethodsAnswerLikeHost(t *testing.T) {
	t.Parallel()
	h := newTestServer(t, conformance.New(t, conformance.OpenSQLite, withMail))
	for _, o := range service.Ops.Ops {
		if o.Exposure == op.BrowserOnly || o.Streams {
			continue
		}
		f := fixtureOf(t, o.Name)
		at := h.alone(f)
		want := viaHost(at, o, at.Call(ownerOf(o)), f.args(testScene{at.World, t}))
		at = h.alone(f)
		got := callGenerated(at, o, f.args(testScene{at.World, t}))
		delete(want.object, "ok")
		if a, b := normalize(t, got, false), normalize(t, want.object, false); a != b {
			t.Errorf("%s: the method answers\n%s\nand the host\n%s", o.Name, a, b)
		}
	}
}

// callGenerated calls the method of the Go client for an operation: memory.get is MemoryGet.
func callGenerated(h *testServer, o *op.Op, in args) args {
	h.t.Helper()
	resource, verb, _ := strings.Cut(o.Name, ".")
	name := strings.ToUpper(resource[:1]) + resource[1:] + strings.ToUpper(verb[:1]) + verb[1:]
	m := reflect.ValueOf(h.client(h.Call(ownerOf(o)))).MethodByName(name)
	if !m.IsValid() {
		h.t.Fatalf("the client has no %s: go generate ./client", name)
	}
	given := []reflect.Value{reflect.ValueOf(h.t.Context())}
	if typ, _ := o.Types(); typ.NumField() > 0 {
		input := reflect.New(typ)
		testenv.NoError(h.t, json.Unmarshal(testenv.Must(json.Marshal(in))(h.t), input.Interface()))
		given = append(given, input.Elem())
	}
	out := m.Call(given)
	if err, _ := out[1].Interface().(error); err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	return h.parseAnswer(json.Marshal(out[0].Interface())).object
}
