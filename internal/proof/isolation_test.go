package proof_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// told are the fields in which an answer may tell that something of another
// tenant exists, with the reason.
var told = map[string]string{
	"auth.register email": "an address has one account: the contract answers conflict",
}

// TestNothingOfOneTenantIsKnownToAnother tries what ann was told (ids, cursors,
// addresses, names) in every text that eve can send, at every door. Each answer
// equals that for a text of the same form that nobody was ever told.
func TestNothingOfOneTenantIsKnownToAnother(t *testing.T) {
	t.Parallel()
	h := open(t, proof.New(t, proof.SQLite, proof.Options{Embedder: &storetest.Model{Name: "blind", Blind: true}}))
	plant(h)
	h.Embedded(t)
	eve := *h.World
	eve.Ann, eve.Crew = h.Eve, h.Team(t, h.Eve)
	hers := harvest(h, h.World)
	secrets := secrets(hers, harvest(h, &eve))
	if len(secrets) < 20 {
		t.Fatalf("ann was told %d things only: %q", len(secrets), secrets)
	}
	twins := map[string]string{}
	for _, s := range secrets {
		twins[s] = twin(s)
	}
	ops := slices.Clone(service.Ops.Ops)
	slices.SortStableFunc(ops, func(a, b *op.Op) int { return rank(a) - rank(b) })
	tried := 0
	for _, o := range ops {
		base := fixtureOf(t, o.Name).args(scene{&eve, t})
		for n, w := range ways {
			if !w.has(o, question{}) || o.Access == op.Public && w.name != "rest" {
				continue
			}
			at := &house{&eve, t, h.url}
			w.call(at, o, eve.Call(proof.Owner), base) // what it changes is changed now
			for _, field := range textFields(o) {
				secrets := secrets
				if n >= 4 { // a pipe or a command takes a session or a process for each call, and stands before the same host
					secrets = namedBy(field, hers, secrets)
					if len(secrets) == 0 && strings.HasSuffix(strings.ToLower(field), "id") {
						t.Errorf("%s: ann was told no id for %s", o.Name, field)
					}
				}
				for i, s := range secrets {
					if told[o.Name+" "+field] != "" || i > 0 && !suits(o, s) {
						continue
					}
					for _, in := range bases(o, base, field) {
						compare(t, at, w, o, in, field, s, twins[s])
						tried++
					}
				}
			}
		}
	}
	t.Logf("%d secrets in %d calls, each beside its twin", len(secrets), tried)
}

// bases are the arguments beside a text: all that there are, and where the
// text may name a record or a page, none but those that are needed.
func bases(o *op.Op, all args, field string) []args {
	if !strings.HasSuffix(strings.ToLower(field), "id") && field != "cursor" {
		return []args{all}
	}
	few := args{}
	for _, f := range o.Fields() {
		if v, given := all[f.Name]; given && f.Required {
			few[f.Name] = v
		}
	}
	return []args{all, few}
}

// rank puts what changes nothing first: a search would find what was just written.
func rank(o *op.Op) int {
	if o.Reads {
		return 0
	}
	return 1
}

// A secrecy tells of each text that a tenant was told at which places of the answers.
type secrecy map[string][]string

// secrets picks what ann was told and eve was not: one of each place. Words
// that the schemas name are known to all, and a text that quotes one of eve's, as the
// context of like memories does, asks for what is eve's own.
func secrets(hers, mine secrecy) (list []string) {
	places := map[string][]string{}
	for s, at := range hers {
		for _, place := range at {
			if mine[s] == nil && !words()[s] && !quotes(s, mine) {
				places[place] = append(places[place], s)
			}
		}
	}
	for _, some := range places {
		list = append(list, slices.Max(some))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// quotes reports whether a text holds a sentence that somebody was told.
func quotes(text string, told secrecy) bool {
	for s := range told {
		if strings.Count(s, " ") > 2 && strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// records are what fields name by an id, and as answers list them.
var records = map[string]string{"workspace": "workspaces", "atlas": "atlases", "memory": "memories", "invitation": "invitations", "key": "keys", "user": "members"}

// namedBy picks an id of what a field names: of a memory for "replacementMemoryId".
func namedBy(field string, hers secrecy, secrets []string) []string {
	field = strings.ReplaceAll(strings.ToLower(field), "_", "")
	for record, list := range records {
		ends := []string{"." + record + "id", "." + record + ".id", "." + list + ".id"}
		for _, s := range secrets {
			named := slices.ContainsFunc(hers[s], func(place string) bool {
				return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(strings.ToLower(place), end) })
			})
			if named && loci.ValidID(s) && strings.HasSuffix(field, record+"id") {
				return []string{s}
			}
		}
	}
	return nil
}

// words are the enums of all inputs.
var words = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, o := range service.Ops.Ops {
		for _, f := range o.Fields() {
			for _, w := range f.Enum {
				all[w] = true
			}
		}
	}
	return all
})

// suits leaves all but addresses out where each call hashes a password.
func suits(o *op.Op, s string) bool { return o.Access != op.Public || strings.Contains(s, "@") }

// plant gives ann what eve has nothing like.
func plant(h *house) {
	ctx, ann, t := h.t.Context(), h.Ann.Actor(), h.t
	team := proof.Must(h.Service.CreateWorkspace(ctx, ann, loci.CreateWorkspace{Name: "Tapir guild"}))(t).Workspace
	atlas := proof.Must(h.Service.CreateAtlas(ctx, ann, loci.CreateAtlas{Name: "Okapi plans", WorkspaceID: team.ID, Keywords: loci.Keywords{"quagga"}, Description: "Where okapis go."}))(t).Atlas
	for i := range 3 {
		content := loci.Content(fmt.Sprintf("Zebra %d: the launch code of the quagga is %d", i, 7000+i))
		source := &loci.Source{Name: "bongo", URI: "https://kudu.example.org/gerenuk", Group: "impala"}
		proof.Must(h.Service.CreateMemory(ctx, ann, loci.CreateMemory{Content: content, AtlasID: atlas.ID, Tags: loci.Tags{"oryx"}, Source: source}))(t)
	}
	proof.Must(h.Service.CreateInvitations(ctx, ann, loci.CreateInvitations{WorkspaceID: team.ID, Emails: loci.Emails{"gnu@example.org", "topi@example.org"}}))(t)
	h.Join(t, team.ID, h.Ann, h.Cid, loci.Member)
}

// harvest notes every text that the operations answer to the owner of w, but
// times. Lists are asked for whole, and in parts for their cursors.
func harvest(h *house, w *proof.World) secrecy {
	h.t.Helper()
	told := secrecy{}
	for _, o := range service.Ops.Ops {
		if o.Access == op.Public {
			continue
		}
		in := fixtureOf(h.t, o.Name).args(scene{w, h.t})
		wide := with(in, nil)
		for _, name := range []string{"workspace_id", "atlas_id", "limit"} {
			delete(wide, name)
		}
		parts := with(wide, args{"limit": 1})
		if o.In().Properties["limit"] == nil {
			parts = wide
		}
		for _, in := range []args{in, wide, parts} {
			raw, err := w.Host.Call(h.t.Context(), o, w.Call(proof.Owner), op.Args{JSON: proof.Must(json.Marshal(in))(h.t)})
			if !loci.Is(err, loci.StateConflict) { // an invitation is answered once
				told.note("", h.answer(raw, err).object)
			}
		}
	}
	return told
}

func (told secrecy) note(place string, v any) {
	switch v := v.(type) {
	case args:
		for name, inner := range v {
			if cursor, ok := inner.(string); ok && name == "nextCursor" {
				name = cursor // each is of another question
			}
			told.note(place+"."+name, inner)
		}
	case []any:
		for _, inner := range v {
			told.note(place, inner)
		}
	case string:
		if _, err := time.Parse(time.RFC3339, v); err != nil && v != "" {
			told[v] = append(told[v], place)
		}
	}
}

// textFields lists the texts that an operation takes: "title", "tags", "source.uri".
func textFields(o *op.Op) (names []string) {
	for _, f := range o.Fields() {
		switch {
		case f.Type == "string":
			names = append(names, f.Name)
		case f.Type == "object":
			for _, inner := range o.In().Properties[f.Name].PropertyOrder {
				if o.In().Properties[f.Name].Properties[inner].Type == "string" {
					names = append(names, f.Name+"."+inner)
				}
			}
		}
	}
	return names
}

// put returns the arguments with a text in a field.
func put(o *op.Op, base args, field, s string) args {
	outer, inner, nested := strings.Cut(field, ".")
	if nested {
		return with(base, args{outer: args{inner: s}})
	}
	for _, f := range o.Fields() {
		if f.Name == field && f.List {
			return with(base, args{field: []any{s}})
		}
	}
	return with(base, args{field: s})
}

// twin returns a text of the same form that is nobody's: letters and digits
// are others, an id is a new one.
func twin(s string) string {
	if loci.ValidID(s) {
		return loci.NewID(time.Now())
	}
	if loci.ValidKey(s) {
		return loci.NewKey()
	}
	if link, token, ok := strings.Cut(s, "&token="); ok {
		address, id, _ := strings.Cut(link, "?id=")
		return address + "?id=" + twin(id) + "&token=" + twin(token)
	}
	at := strings.IndexByte(s, '@')
	return strings.Map(func(r rune) rune {
		if at--; at < -1 && strings.Contains(s, "@") {
			return r // the host of an address stays
		}
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		case '0' <= r && r <= '9':
			return '0' + (r-'0'+5)%10
		}
		return r
	}, s)
}

func compare(t *testing.T, h *house, w way, o *op.Op, base args, field, secret, other string) {
	t.Helper()
	a, b := reveal(h, w, o, base, field, secret), reveal(h, w, o, base, field, other)
	if a != b {
		t.Errorf("%s by %s tells of %q in %s:\n%s\nand of %q\n%s", o.Name, w.name, secret, field, a, other, b)
	}
}

// reveal calls the operation with a text, and returns all that the door says,
// but for what differs from call to call and for the text itself.
func reveal(h *house, w way, o *op.Op, base args, field, s string) string {
	h.t.Helper()
	if o.Name == service.MemoryAppend.Name && field == "content" { // the memory grows with each call
		base = fixtureOf(h.t, o.Name).args(scene{h.World, h.t})
	}
	in := put(o, base, field, s)
	c := h.Call(proof.Owner)
	var head string
	var a answer
	if w.name == "rest" {
		res, raw := exchange(h, o, c, in)
		a, head = h.answer(raw, nil), header(res)
	} else {
		a = w.call(h, o, c, in)
	}
	if key, ok := a.object["key"].(args); ok && o.Name == service.KeyCreate.Name { // a user has at most 100 live keys
		if _, err := h.Service.RevokeKey(h.t.Context(), h.Ann.Actor(), loci.RevokeKey{KeyID: key["id"].(string)}); err != nil {
			h.t.Fatal(err)
		}
	}
	if m, ok := a.object["memory"].(args); ok {
		if m["title"] == loci.DeriveTitle(s) {
			m["title"] = s
		}
		if content, ok := m["content"].(string); ok {
			m["content"] = strings.TrimSuffix(content, "\n"+s)
		}
		if alike, ok := m["similar"].([]any); ok { // by chance, and growing: what is one's own tells nothing
			m["similar"] = slices.DeleteFunc(alike, func(v any) bool { return owns(h, v.(args)["id"]) })
		}
		if owns(h, m["duplicateOf"]) {
			delete(m, "duplicateOf")
		}
	}
	return head + aVersion.ReplaceAllString(essence(h.t, hide(a.object, s).(args), false), `"version"`)
}

// owns reports whether the caller can read a memory.
func owns(h *house, id any) bool {
	s, ok := id.(string)
	if !ok {
		return false
	}
	_, err := h.Service.GetMemory(h.t.Context(), h.Ann.Actor(), loci.GetMemory{MemoryID: s})
	return err == nil
}

// aVersion is how often a record was changed.
var aVersion = regexp.MustCompile(`"version":\d+`)

// header writes status and headers, without those that differ from call to call.
func header(res *http.Response) string {
	var lines []string
	for name, values := range res.Header {
		switch name {
		case "Date", "X-Request-Id", "Etag", "Content-Length", "Set-Cookie", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset":
			continue
		}
		lines = append(lines, name+": "+strings.Join(values, ", "))
	}
	slices.Sort(lines)
	return res.Status + "\n" + strings.Join(lines, "\n") + "\n"
}

// hide takes out the text itself where an answer repeats it.
func hide(v any, s string) any {
	switch v := v.(type) {
	case args:
		out := args{}
		for name, inner := range v {
			out[name] = hide(inner, s)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = hide(v[i], s)
		}
		return out
	case string:
		local, _, _ := strings.Cut(s, "@")
		if v == s || v == local {
			return "it"
		}
		if len(s) >= 8 {
			return strings.ReplaceAll(v, s, "it")
		}
	}
	return v
}
