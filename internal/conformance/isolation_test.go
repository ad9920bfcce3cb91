package conformance_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/filetoken"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/title"
)

// allowedDisclosures are the fields in which an answer may reveal that a record
// of another tenant exists, with the reason.
var allowedDisclosures = map[string]string{
	"auth.register email": "an address has one account: the contract answers conflict",
}

// TestTenantsAreIsolated tries every text that ann received (ids, cursors, addresses, names) in every text field of
// eve's calls, over every transport. Each answer equals that for an unknown text of the same form.
func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	h := newTestServer(t, conformance.New(t, conformance.OpenSQLite,
		conformance.Options{Embedder: &storetest.FakeEmbedder{Name: "blind", Constant: true},
			SendMail: withMail.SendMail}))
	addRecords(h)
	h.WaitForEmbeddings(t)
	eve := *h.World
	eve.Ann, eve.Team = h.Eve, h.NewTeam(t, h.Eve)
	eve.Bob, eve.Cid, eve.Fay = h.Person(t, "gil"), h.Person(t, "hal"), h.Person(t, "ida")
	h.Join(t, eve.Team, h.Eve, eve.Bob, loci.RoleAdmin)
	h.Join(t, eve.Team, h.Eve, eve.Cid, loci.RoleMember)
	annDisclosures := collectDisclosures(h, h.World)
	secrets := secretTexts(annDisclosures, collectDisclosures(h, &eve))
	if len(secrets) < 20 {
		t.Fatalf("ann was told %d things only: %q", len(secrets), secrets)
	}
	twins := map[string]string{}
	for _, s := range secrets {
		twins[s] = lookalike(s)
	}
	ops := slices.Clone(service.Ops.Ops)
	slices.SortStableFunc(ops, func(a, b *op.Op) int { return readsFirst(a) - readsFirst(b) })
	tried := 0
	for _, o := range ops {
		base := fixtureOf(t, o.Name).args(testScene{&eve, t})
		for n, w := range transports {
			if !w.supports(o, callShape{}) || o.Access == op.Public && w.name != "rest" {
				continue
			}
			at := &testServer{&eve, t, h.url}
			// the call has changed the record now
			if !fixtures[o.Name].alone {
				w.call(at, o, eve.Call(ownerOf(o)), base)
			}
			for _, field := range textFields(o) {
				secrets := secrets
				// a pipe or a command needs a session or a process for each call, and reaches the same host
				if n >= 4 {
					secrets = namedBy(field, annDisclosures, secrets)
					if len(secrets) == 0 && namesRecord(o, field) && base[field] != nil &&
						!strings.HasSuffix(field, "Ids") {
						t.Errorf("%s: ann was told no id for %s", o.Name, field)
					}
				}
				for i, s := range secrets {
					if allowedDisclosures[o.Name+" "+field] != "" || i > 0 && !acceptsText(o, s) {
						continue
					}
					for _, in := range baseArgs(o, base, field) {
						compareAnswers(t, at, w, o, in, field, s, twins[s])
						tried++
					}
				}
			}
		}
	}
	t.Logf("%d secrets in %d calls, each beside its twin", len(secrets), tried)
}

// namesRecord reports whether a field has the id of a record. Clients choose other ids, such as those of events.
func namesRecord(o *op.Op, field string) bool {
	return slices.ContainsFunc(o.Fields(), func(f op.Field) bool { return f.Name == field && f.Resource != "" })
}

// withNewRecords returns the arguments with the ids of new records.
func withNewRecords(h *testServer, o *op.Op, base args) args {
	out := mergeArgs(base, nil)
	for name, value := range fixtureOf(h.t, o.Name).args(testScene{h.World, h.t}) {
		if _, given := base[name]; given && namesRecord(o, name) {
			out[name] = value
		}
	}
	return out
}

// grows reports whether a call changes what the next one answers, as the number of a checkpoint.
func grows(o *op.Op, field string) bool {
	resource, _, _ := strings.Cut(o.Name, ".")
	return (resource == "session" || resource == "unit") && !o.ReadOnly && !namesRecord(o, field) &&
		o.Name != service.SessionStart.Name
}

// baseArgs returns the arguments beside a text: all of them. If the text may name a record or a page, it returns the
// required ones alone too.
func baseArgs(o *op.Op, all args, field string) []args {
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

// readsFirst orders operations without changes first: a search would find new memories.
func readsFirst(o *op.Op) int {
	if o.ReadOnly {
		return 0
	}
	return 1
}

// disclosures map each text that a tenant received to its places in the answers.
type disclosures map[string][]string

// secretTexts returns texts that ann received and eve did not: one of each place. Words of the schemas are public.
// Texts that quote eve's own, such as the context of similar memories, are left out.
func secretTexts(annDisclosures, eveDisclosures disclosures) (list []string) {
	places := map[string][]string{}
	for s, at := range annDisclosures {
		for _, place := range at {
			if eveDisclosures[s] == nil && !schemaWords()[s] && !quotedBy(s, eveDisclosures) {
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

// quotedBy reports whether a text contains a received sentence.
func quotedBy(text string, disclosed disclosures) bool {
	for s := range disclosed {
		if strings.Count(s, " ") > 2 && strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// recordFields map field names of ids to the lists of their records.
var recordFields = map[string]string{"workspace": "workspaces", "atlas": "atlases", "memory": "memories",
	"invitation": "invitations", "key": "keys", "user": "members",
	"signin": "signins", "grant": "grants", "benefit": "benefits",
	"session": "sessions", "candidate": "candidates", "unit": "units", "agent": "agents", "message": "messages",
	"attachment": "attachments"}

// namedBy returns an id for a field: that of a memory for "replacementMemoryId".
func namedBy(field string, annDisclosures disclosures, secrets []string) []string {
	if field == "replyTo" {
		field = "messageId"
	}
	field = strings.ReplaceAll(strings.ToLower(field), "_", "")
	for record, list := range recordFields {
		ends := []string{"." + record + "id", "." + record + ".id", "." + list + ".id"}
		for _, s := range secrets {
			named := slices.ContainsFunc(annDisclosures[s], func(place string) bool {
				return slices.ContainsFunc(ends, func(end string) bool {
					return strings.HasSuffix(strings.ToLower(place), end)
				})
			})
			if named && loci.ID(s).Valid() && strings.HasSuffix(field, record+"id") {
				return []string{s}
			}
		}
	}
	return nil
}

// schemaWords are the enum values of all inputs.
var schemaWords = sync.OnceValue(func() map[string]bool {
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

// acceptsText leaves out texts other than addresses where each call hashes a password.
func acceptsText(o *op.Op, s string) bool {
	return o.Access != op.Public && o.Name != service.AccountPassword.Name && o.Name != service.AccountDelete.Name ||
		strings.Contains(s, "@")
}

// addRecords gives ann records that eve does not have.
func addRecords(h *testServer) {
	ctx, ann, t := h.t.Context(), h.Ann.Actor(), h.t
	team := conformance.Must(h.Service.CreateWorkspace(ctx, ann,
		loci.CreateWorkspace{Name: "Tapir guild"}))(t).Workspace
	atlas := conformance.Must(h.Service.CreateAtlas(ctx, ann,
		loci.CreateAtlas{Name: "Okapi plans", WorkspaceID: team.ID, Keywords: loci.Keywords{"quagga"},
			Description: "Where okapis go."}))(t).Atlas
	for i := range 3 {
		content := loci.Content(fmt.Sprintf("Zebra %d: the launch code of the quagga is %d", i, 7000+i))
		source := &loci.Source{Name: "bongo", URI: "https://kudu.example.org/gerenuk", Group: "impala"}
		conformance.Must(h.Service.CreateMemory(ctx, ann,
			loci.CreateMemory{Content: content, AtlasID: atlas.ID, Tags: loci.Tags{"oryx"},
				Source: source}))(t)
	}
	conformance.Must(h.Service.CreateInvitations(ctx, ann,
		loci.CreateInvitations{WorkspaceID: team.ID,
			Emails: loci.Emails{"gnu@example.org", "topi@example.org"}}))(t)
	h.Join(t, team.ID, h.Ann, h.Cid, loci.RoleMember)
}

// collectDisclosures collects every text that the operations return to the owner of w, except times. Lists are read
// whole, and in parts for their cursors.
func collectDisclosures(h *testServer, w *conformance.World) disclosures {
	h.t.Helper()
	disclosed := disclosures{}
	for _, o := range service.Ops.Ops {
		if o.Access == op.Public || fixtures[o.Name].alone {
			continue
		}
		in := fixtureOf(h.t, o.Name).args(testScene{w, h.t})
		wide := mergeArgs(in, nil)
		for _, name := range []string{"workspace_id", "atlas_id", "limit"} {
			delete(wide, name)
		}
		parts := mergeArgs(wide, args{"limit": 1})
		if o.InputSchema().Properties["limit"] == nil {
			parts = wide
		}
		for _, in := range []args{in, wide, parts} {
			a := viaHost(&testServer{w, h.t, h.url}, o, w.Call(ownerOf(o)), in)
			if a.code() != loci.CodeStateConflict { // an invitation is answered once
				disclosed.record("", a.object)
			}
		}
	}
	return disclosed
}

func (disclosed disclosures) record(place string, v any) {
	switch v := v.(type) {
	case args:
		for name, inner := range v {
			if cursor, ok := inner.(string); ok && name == "nextCursor" {
				name = cursor // each belongs to another query
			}
			disclosed.record(place+"."+name, inner)
		}
	case []any:
		for _, inner := range v {
			disclosed.record(place, inner)
		}
	case string:
		if _, err := time.Parse(time.RFC3339, v); err != nil && v != "" {
			disclosed[v] = append(disclosed[v], place)
		}
	}
}

// textFields lists the text fields of an operation: "title", "tags", "source.uri".
func textFields(o *op.Op) (names []string) {
	for _, f := range o.Fields() {
		switch {
		case f.Type == "string":
			names = append(names, f.Name)
		case f.Type == "object":
			for _, inner := range o.InputSchema().Properties[f.Name].PropertyOrder {
				if o.InputSchema().Properties[f.Name].Properties[inner].Type == "string" {
					names = append(names, f.Name+"."+inner)
				}
			}
		}
	}
	return names
}

// withText returns the arguments with a text in a field.
func withText(o *op.Op, base args, field, s string) args {
	outer, inner, nested := strings.Cut(field, ".")
	if nested {
		return mergeArgs(base, args{outer: args{inner: s}})
	}
	for _, f := range o.Fields() {
		if f.Name == field && f.List {
			return mergeArgs(base, args{field: []any{s}})
		}
	}
	return mergeArgs(base, args{field: s})
}

// lookalike returns an unknown text of the same form: letters and digits differ, an id is a new one.
func lookalike(s string) string {
	switch id := loci.ID(s); {
	case id.Valid() && strings.HasPrefix(s, loci.AgentIDPrefix):
		return string(loci.NewAgentID(time.Now()))
	case id.Valid():
		return string(loci.NewID(time.Now()))
	}
	if identity.ValidKey(s) {
		return identity.NewKey()
	}
	if filetoken.LooksLike(s) && strings.HasPrefix(s, "eyJ") { // with another signature
		end := strings.LastIndexByte(s, '.') + 1
		return s[:end] + lookalike(s[end:])
	}
	if address, query, ok := strings.Cut(s, "?expires="); ok {
		id := len(address) - 36
		signed := strings.Split(query, "&")
		for i, pair := range signed[1:] {
			name, value, _ := strings.Cut(pair, "=")
			signed[i+1] = name + "=" + lookalike(value)
		}
		return address[:id] + lookalike(address[id:]) + "?expires=1" + strings.Join(signed, "&")[1:]
	}
	if link, token, ok := strings.Cut(s, "&token="); ok {
		address, id, _ := strings.Cut(link, "?id=")
		return address + "?id=" + lookalike(id) + "&token=" + lookalike(token)
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

func compareAnswers(t *testing.T, h *testServer, w transport, o *op.Op, base args, field, secret, other string) {
	t.Helper()
	a, b := normalizedAnswer(h, w, o, base, field, secret), normalizedAnswer(h, w, o, base, field, other)
	if a != b {
		t.Errorf("%s by %s tells of %q in %s:\n%s\nand of %q\n%s", o.Name, w.name, secret, field, a, other, b)
	}
}

// normalizedAnswer calls the operation with a text. It returns the answer without the text and without the parts that
// differ from call to call.
func normalizedAnswer(h *testServer, w transport, o *op.Op, base args, field, s string) string {
	h.t.Helper()
	// the memory grows, and the password differs, with each call
	if grows(o, field) {
		base = withNewRecords(h, o, base)
	}
	if o.Name == service.MemoryAppend.Name && field == "content" || o.Name == service.AccountPassword.Name {
		base = fixtureOf(h.t, o.Name).args(testScene{h.World, h.t})
	}
	if o.Name == service.AttachmentUpload.Name {
		testScene{h.World, h.t}.deleteUploads()
	}
	in := withText(o, base, field, s)
	c := h.Call(ownerOf(o))
	var head string
	var a answer
	if w.name == "rest" {
		res, raw := exchange(h, o, c, in)
		a, head = h.parseAnswer(raw, nil), header(res)
	} else {
		a = w.call(h, o, c, in)
	}
	// a user has at most 100 live keys
	if key, ok := a.object["key"].(args); ok && o.Name == service.KeyCreate.Name {
		if _, err := h.Service.RevokeKey(h.t.Context(), h.Ann.Actor(),
			loci.RevokeKey{KeyID: loci.ID(key["id"].(string))}); err != nil {
			h.t.Fatal(err)
		}
	}
	if x, ok := a.object["session"].(args); ok && o.Name == service.SessionFinalize.Name {
		x["snapshot"] = strings.ReplaceAll(x["snapshot"].(string), strings.Trim(s, "\n"), "it") // of a short text, too
	}
	if c, ok := a.object["candidate"].(args); ok {
		if c["title"] == title.Derive(s) {
			c["title"] = s
		}
		if alike, ok := c["similar"].([]any); ok { // as of a memory, below
			c["similar"] = slices.DeleteFunc(alike, func(v any) bool { return ownsRecord(h, v.(args)["memoryId"]) })
		}
	}
	if m, ok := a.object["memory"].(args); ok {
		if m["title"] == title.Derive(s) {
			m["title"] = s
		}
		if content, ok := m["content"].(string); ok {
			m["content"] = strings.TrimSuffix(content, "\n"+s)
		}
		// depends on chance and grows: the caller's own records reveal nothing
		if alike, ok := m["similar"].([]any); ok {
			m["similar"] = slices.DeleteFunc(alike, func(v any) bool { return ownsRecord(h, v.(args)["id"]) })
		}
		if ownsRecord(h, m["duplicateOf"]) {
			delete(m, "duplicateOf")
		}
	}
	return head + aVersion.ReplaceAllString(normalize(h.t, withoutText(a.object, s).(args), false), `"version"`)
}

// ownsRecord reports whether the caller can read a memory.
func ownsRecord(h *testServer, id any) bool {
	s, ok := id.(string)
	if !ok {
		return false
	}
	_, err := h.Service.GetMemory(h.t.Context(), h.Ann.Actor(), loci.GetMemory{MemoryID: loci.ID(s)})
	return err == nil
}

// aVersion matches the number of changes of a record.
var aVersion = regexp.MustCompile(`"version":\d+`)

// header writes status and headers, without those that differ from call to call.
func header(res *http.Response) string {
	var lines []string
	for name, values := range res.Header {
		switch name {
		case "Date", "X-Request-Id", "Etag", "Content-Length", "Set-Cookie", "Ratelimit-Limit", "Ratelimit-Remaining",
			"Ratelimit-Reset":
			continue
		}
		lines = append(lines, name+": "+strings.Join(values, ", "))
	}
	slices.Sort(lines)
	return res.Status + "\n" + strings.Join(lines, "\n") + "\n"
}

// withoutText removes the text itself where an answer repeats it.
func withoutText(v any, s string) any {
	switch v := v.(type) {
	case args:
		out := args{}
		for name, inner := range v {
			out[name] = withoutText(inner, s)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutText(v[i], s)
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
