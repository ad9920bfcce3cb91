package conformance_test

import (
	"cmp"
	"maps"
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
)

// A secret is a text that ann received and eve did not.
type secret struct {
	text, twin string // the twin is an unknown text of the same form
	form       string
	kinds      []string // of its places
}

// A place is a field of answers. Each cursor has a place of its own, because it belongs to another query.
type place struct {
	field string // ".memories.id"
	op    string // of a cursor
	call  int
}

// kind returns the kind of the texts in a place: the name of their field, or the record of an id.
func (p place) kind() string {
	parent, name := p.field[:strings.LastIndexByte(p.field, '.')], p.field[strings.LastIndexByte(p.field, '.')+1:]
	switch {
	case p.op != "":
		return "cursor of " + p.op
	case name == "id":
		list := parent[strings.LastIndexByte(parent, '.')+1:]
		if record, ok := strings.CutSuffix(list, "ies"); ok {
			list = record + "y"
		} else if record, ok := strings.CutSuffix(list, "ses"); ok {
			list = record + "s"
		}
		name = strings.TrimSuffix(list, "s") + name
	}
	return kindNamed(name)
}

// fieldKind returns the kind of the texts that a field is for.
func fieldKind(o *op.Op, field string) string {
	resource := resourceOf(o, field)
	switch {
	case field == "cursor":
		return "cursor of " + o.Name
	case resource != "":
		return kindNamed(resource + "id")
	}
	return kindNamed(field[strings.LastIndexByte(field, '.')+1:])
}

// kindNamed returns a name without its spelling: "atlas_id" and "atlasIds" name the same kind.
func kindNamed(name string) string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.ToLower(name), "_", ""), "s")
}

// disclosures map each text that a tenant received to its places in the answers.
type disclosures map[string]map[place]bool

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
		at := *h
		at.World = w
		for call, in := range []args{in, wide, parts} {
			c := w.Call(ownerOf(o))
			if call == 0 {
				c.IdempotencyKey = idempotencyKey(w.Ann.Name, o)
			}
			if a := viaHost(&at, o, c, in); a.code() != loci.CodeStateConflict { // an invitation is answered once
				disclosed.record(place{op: o.Name, call: call}, a.object)
			}
		}
	}
	return disclosed
}

// idempotencyKey returns the key of a person's first call of an operation.
func idempotencyKey(name string, o *op.Op) string { return name + " " + o.Name }

func (disclosed disclosures) record(at place, v any) {
	switch v := v.(type) {
	case args:
		for name, inner := range v {
			disclosed.record(place{at.field + "." + name, at.op, at.call}, inner)
		}
	case []any:
		for _, inner := range v {
			disclosed.record(at, inner)
		}
	case string:
		if _, err := time.Parse(time.RFC3339, v); err == nil || v == "" {
			return
		}
		if !strings.HasSuffix(at.field, ".nextCursor") {
			at = place{field: at.field}
		}
		if disclosed[v] == nil {
			disclosed[v] = map[place]bool{}
		}
		disclosed[v][at] = true
	}
}

// secretTexts returns texts that ann received and eve did not: one of each place. Words of the schemas are public.
// Texts that quote eve's own, such as the context of similar memories, are left out.
func secretTexts(annDisclosures, eveDisclosures disclosures) (list []secret) {
	places := map[place]string{}
	for s, at := range annDisclosures {
		for p := range at {
			if eveDisclosures[s] == nil && !schemaWords()[s] && !quotedBy(s, eveDisclosures) {
				places[p] = max(places[p], s)
			}
		}
	}
	listed := map[string]bool{}
	for _, p := range slices.SortedFunc(maps.Keys(places), comparePlaces) {
		s := places[p]
		if listed[s] {
			continue
		}
		listed[s] = true
		f := formOf(s)
		x := secret{text: s, twin: f.twin(s), form: f.name}
		for p := range annDisclosures[s] {
			x.kinds = append(x.kinds, p.kind())
		}
		slices.Sort(x.kinds)
		x.kinds = slices.Compact(x.kinds)
		list = append(list, x)
	}
	return list
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.op, b.op), cmp.Compare(a.call, b.call))
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

// A form is a form of texts, and makes unknown ones of it: letters and digits differ, an id is a new one.
type form struct {
	name string
	has  func(s string) bool
	twin func(s string) string
}

var aCursor = regexp.MustCompile(`^[\w-]{24,}$`)

// forms are the forms of texts. A text has the first one that fits it, and the last one fits all.
var forms = []form{
	{"agent id", func(s string) bool { return loci.ID(s).Valid() && strings.HasPrefix(s, loci.AgentIDPrefix) },
		func(string) string { return string(loci.NewAgentID(time.Now())) }},
	{"id", func(s string) bool { return loci.ID(s).Valid() },
		func(string) string { return string(loci.NewID(time.Now())) }},
	{"key", identity.ValidKey, func(string) string { return identity.NewKey() }},
	{"token", func(s string) bool { return filetoken.LooksLike(s) && strings.HasPrefix(s, "eyJ") },
		func(s string) string { // with another signature
			end := strings.LastIndexByte(s, '.') + 1
			return s[:end] + rotate(s[end:])
		}},
	{"signed link", func(s string) bool { return strings.Contains(s, "?expires=") }, twinOfSignedLink},
	{"link", func(s string) bool { return strings.Contains(s, "://") }, rotate},
	{"address", func(s string) bool { return strings.Contains(s, "@") }, func(s string) string {
		at := strings.IndexByte(s, '@') // the host stays
		return rotate(s[:at]) + s[at:]
	}},
	{"cursor", aCursor.MatchString, rotate},
	{"sentence", func(s string) bool { return strings.Contains(s, " ") }, rotate},
	{"word", func(string) bool { return true }, rotate},
}

func formOf(s string) form {
	return forms[slices.IndexFunc(forms, func(f form) bool { return f.has(s) })]
}

func twinOfSignedLink(s string) string {
	link, query, _ := strings.Cut(s, "?expires=")
	id := len(link) - 36
	signed := strings.Split(query, "&")
	for i, pair := range signed[1:] {
		name, value, _ := strings.Cut(pair, "=")
		signed[i+1] = name + "=" + rotate(value)
	}
	return link[:id] + string(loci.NewID(time.Now())) + "?expires=" + strings.Join(signed, "&")
}

// rotate returns the text with other letters and digits.
func rotate(s string) string {
	return strings.Map(func(r rune) rune {
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

// mostIDs is how many ids of its own resource a field meets in a sample.
const mostIDs = 4

// sample returns the secrets that a field meets over the n-th transport: all of its own kind, of ids some; one of each
// form; and one of each kind of words where the field takes any text. Other fields and transports meet the next ones.
func (s *isolationScene) sample(t testing.TB, o *op.Op, field string, n int) (list []secret) {
	t.Helper()
	if field == keyHeader {
		if !o.AcceptsIdempotencyKey() || onlyIDs(n) || !transports[n].supports(o, callShape{headers: true}) {
			return nil
		}
		key := idempotencyKey(s.ann.Ann.Name, o)
		return []secret{{text: key, twin: rotate(key)}}
	}
	own := slices.DeleteFunc(slices.Clone(s.secrets), func(x secret) bool {
		return !slices.Contains(x.kinds, fieldKind(o, field))
	})
	resource, turn := resourceOf(o, field), s.turns[o.Name+" "+field]+n
	if len(own) == 0 && resource != "" {
		t.Errorf("%s: ann was told no id for %s", o.Name, field)
	}
	if onlyIDs(n) {
		if resource == "" {
			return nil
		}
		return rotation(own, turn, 1)
	}
	if s.whole {
		list = s.secrets
	} else {
		if list = own; resource != "" {
			list = rotation(own, turn, mostIDs)
		}
		groups := map[string][]secret{}
		for _, x := range s.secrets {
			groups[x.form] = append(groups[x.form], x)
			if spoken := x.form == "word" || x.form == "sentence"; spoken && takesText(o, field) {
				group := x.form + " " + x.kinds[0]
				groups[group] = append(groups[group], x)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			list = append(list, rotation(groups[name], turn, 1)...)
		}
	}
	listed := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(x secret) bool {
		left := listed[x.text] || len(listed) > 0 && !acceptsText(o, x.text)
		listed[x.text] = true
		return left
	})
}

// onlyIDs reports whether the n-th transport is tried with ids alone. A pipe or a command needs a session or a process
// for each call, and reaches the same host.
func onlyIDs(n int) bool { return n >= 4 }

// takesText reports whether a field takes any text: no id, no cursor and no word of a list.
func takesText(o *op.Op, field string) bool {
	return resourceOf(o, field) == "" && field != "cursor" && fieldOf(o, field).Enum == nil
}

// rotation returns at most so many of a list, from the place of a turn on.
func rotation(list []secret, turn, most int) (some []secret) {
	for i := range min(most, len(list)) {
		some = append(some, list[(turn+i)%len(list)])
	}
	return some
}
