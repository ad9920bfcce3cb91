package resolve

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// Bounds of a search for records.
const (
	minPart    = 8      // characters of an id; at its beginning they cover a minute of creations
	maxPart    = 36     // characters of a whole id
	maxText    = 200    // bytes of a text that can be a name
	maxScanned = 10_000 // records
	maxListed  = 10     // records in an error
)

// named are the resources whose records have names of their own. Members are named by their addresses.
var named = []string{"workspace", "atlas", "agent", "user", "member"}

// nameOf returns the name by which a record of a resource is found.
func nameOf(resource string, r Record) string {
	if ListedAs(resource) == "member" {
		return r.Email
	}
	return r.Name
}

// hexPart matches a part of an id. The id of an agent has a prefix before it.
var hexPart = regexp.MustCompile(`^[0-9a-f-]+$`)

// partOf returns the text of a part of an id, and its length without the prefix of agents; 0 means that it is none.
func partOf(text string) (part string, length int) {
	part = strings.ToLower(text)
	if hex := strings.TrimPrefix(part, loci.AgentIDPrefix); len(hex) <= maxPart && hexPart.MatchString(hex) {
		length = len(hex)
	}
	return part, length
}

// Expand replaces the names and parts of ids in the input of an operation by ids. It expands workspaces first: atlases
// are those of the workspace in the same input.
func (r Reader) Expand(ctx context.Context, o *op.Op, input []byte) ([]byte, error) {
	members, err := strictjson.Object(input)
	given := map[string]json.RawMessage{}
	for _, m := range members {
		given[m.Name] = m.Value
	}
	if err != nil || len(given) < len(members) {
		return input, nil // the operation refuses it
	}
	changed := false
	var workspaceID loci.ID
	fields := slices.Clone(o.Fields())
	slices.SortStableFunc(fields, func(a, b op.Field) int { return rank(a) - rank(b) })
	for _, f := range fields {
		ids := idsIn(f, given[f.Name])
		if ids == nil {
			continue
		}
		expanded, err := r.expand(ctx, f.Resource, workspaceID, ids)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(ids, expanded) {
			changed = true
			if given[f.Name], err = encodeIDs(f, expanded); err != nil {
				return nil, err
			}
		}
		if f.Resource == "workspace" && !f.List {
			workspaceID = expanded[0]
		}
	}
	if !changed {
		return input, nil
	}
	return json.Marshal(given)
}

// rank orders fields: workspaces first.
func rank(f op.Field) int {
	if f.Resource == "workspace" {
		return 0
	}
	return 1
}

// idsIn returns the texts in the value of a field of ids, or nil. The operation refuses a value of another type.
func idsIn(f op.Field, value json.RawMessage) (ids []loci.ID) {
	var id loci.ID
	switch {
	case f.Resource == "" || value == nil:
	case f.List && json.Unmarshal(value, &ids) != nil:
		return nil
	case !f.List && json.Unmarshal(value, &id) == nil:
		ids = []loci.ID{id}
	}
	return ids
}

// encodeIDs returns the value of a field of ids.
func encodeIDs(f op.Field, ids []loci.ID) (json.RawMessage, error) {
	if f.List {
		return json.Marshal(ids)
	}
	return json.Marshal(ids[0])
}

// expand returns the ids for texts. A text that is left to the operation stays.
func (r Reader) expand(ctx context.Context, resource string, workspaceID loci.ID, texts []loci.ID) ([]loci.ID, error) {
	ids := slices.Clone(texts)
	if len(r.ListsOf(resource)) == 0 {
		return ids, nil
	}
	var finders []*finder
	var places []int
	for i, text := range texts {
		f, err := r.newFinder(resource, workspaceID, string(text))
		if err != nil {
			return nil, err
		}
		if f != nil {
			finders, places = append(finders, f), append(places, i)
		}
	}
	if finders == nil {
		return ids, nil
	}
	list := r.withWorkspaces(ctx, r.All(ctx, resource, workspaceID), finders...)
	if err := scan(resource, list, finders); err != nil {
		return nil, err
	}
	for i, f := range finders {
		found, err := f.one()
		if err != nil {
			return nil, r.nameWorkspaces(ctx, f, err)
		}
		ids[places[i]] = found.ID
	}
	return ids, nil
}

// ID returns the id of the one record that a text names. A whole id is not looked up.
func (r Reader) ID(ctx context.Context, resource string, text loci.ID) (loci.ID, error) {
	ids, err := r.expand(ctx, resource, "", []loci.ID{text})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// newFinder returns the finder for a text, or nil for one that needs none: a whole id, or a text that the operation
// refuses.
func (r Reader) newFinder(resource string, workspaceID loci.ID, text string) (*finder, error) {
	f := newFinder(resource, workspaceID, text)
	f.namesAlone = r.ListName == nil
	switch {
	case f.text == "" || len(f.text) > maxText || loci.ID(f.text).Valid():
		return nil, nil
	case f.byPart || f.byName:
		return f, nil
	case f.length > 0:
		return nil, f.tooShort()
	case r.ListName == nil:
		return nil, nil
	}
	lists := r.ListsOf(resource)
	return nil, loci.Errorf(loci.CodeNotFound, "No %s has the id %q: %s shows the ids.", resource, f.text,
		r.ListName(lists[len(lists)-1]))
}

// Find returns the one record of a resource that a text names. A workspace narrows atlases.
func (r Reader) Find(ctx context.Context, resource string, workspaceID loci.ID, text string) (Record, error) {
	f := newFinder(resource, workspaceID, text)
	found, err := f.find(r.withWorkspaces(ctx, r.All(ctx, resource, workspaceID), f))
	return found, r.nameWorkspaces(ctx, f, err)
}

// nameWorkspaces names the workspaces of records in the error of a text that several have.
func (r Reader) nameWorkspaces(ctx context.Context, f *finder, err error) error {
	if len(f.found) < 2 || f.resource != "atlas" {
		return err
	}
	names, e := r.workspaceNames(ctx)
	if e != nil {
		return err
	}
	for i := range f.found {
		f.found[i].Workspace = names[f.found[i].WorkspaceID]
	}
	_, err = f.one()
	return err
}

// withWorkspaces adds the names of their workspaces to atlases if a text can be a path, such as Team/Runbooks.
func (r Reader) withWorkspaces(ctx context.Context, list iter.Seq2[Record, error],
	finders ...*finder) iter.Seq2[Record, error] {
	if !slices.ContainsFunc(finders, func(f *finder) bool {
		return f.resource == "atlas" && strings.Contains(f.text, "/")
	}) {
		return list
	}
	return func(yield func(Record, error) bool) {
		names, err := r.workspaceNames(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for one, err := range list {
			one.Workspace = names[one.WorkspaceID]
			if !yield(one, err) {
				return
			}
		}
	}
}

// workspaceNames returns the names of the caller's workspaces, if they can be listed.
func (r Reader) workspaceNames(ctx context.Context) (map[loci.ID]string, error) {
	names := map[loci.ID]string{}
	list := r.Table.Op("workspace.list")
	if list == nil {
		return names, nil
	}
	for w, err := range r.List(ctx, list, Unfiltered(list)) {
		if err != nil {
			return nil, err
		}
		names[w.ID] = w.Name
	}
	return names, nil
}

// Find returns the one record of a list that a text names: by its id, by a part of at least 8 characters at the
// beginning or end of it, or, for a workspace, an atlas or an agent, by its name in any letter case. A member is named
// by the address. An archived record has a name only where no other one has it.
func Find(resource, text string, list iter.Seq2[Record, error]) (Record, error) {
	return newFinder(resource, "", text).find(list)
}

func (f *finder) find(list iter.Seq2[Record, error]) (Record, error) {
	if !f.byPart && !f.byName {
		return Record{}, f.tooShort()
	}
	if err := scan(f.resource, list, []*finder{f}); err != nil {
		return Record{}, err
	}
	return f.one()
}

// scan shows the records of a list to finders.
func scan(resource string, list iter.Seq2[Record, error], finders []*finder) error {
	scanned := 0
	for one, err := range list {
		if err != nil {
			return err
		}
		if scanned++; scanned > maxScanned {
			return loci.Errorf(loci.CodeInvalidQuery, "There are more than %d %s records: give the whole id, not %q",
				maxScanned, resource, finders[0].text)
		}
		open := false
		for _, f := range finders {
			f.add(one)
			open = open || !f.isExact
		}
		if !open {
			return nil
		}
	}
	return nil
}

// A finder finds the records of a text.
type finder struct {
	resource, text string
	workspaceID    loci.ID // of atlases; "" for any
	part           string  // of an id, in lower case
	length         int     // of the part
	byPart, byName bool
	namesAlone     bool // an error shows no texts of other records than named ones
	isExact        bool // the record with the whole id was found

	found, archived []Record
	known           []string // names
}

func newFinder(resource string, workspaceID loci.ID, text string) *finder {
	f := &finder{resource: resource, workspaceID: workspaceID, text: strings.TrimSpace(text),
		byName: slices.Contains(named, resource)}
	f.part, f.length = partOf(f.text)
	f.byPart = f.length >= minPart
	return f
}

func (f *finder) add(r Record) {
	if f.isExact || f.resource == "atlas" && f.workspaceID != "" && r.WorkspaceID != f.workspaceID {
		return
	}
	if f.byName && len(f.known) <= maxListed {
		if name := fmt.Sprintf("%q", nameOf(f.resource, r)); !slices.Contains(f.known, name) {
			f.known = append(f.known, name)
		}
	}
	id, list := string(r.ID), &f.found
	switch {
	case id == f.part: // a whole id goes before a record with that name
		f.found, f.isExact = []Record{r}, true
		return
	case f.byPart && (strings.HasPrefix(id, f.part) || strings.HasSuffix(id, f.part)):
	case f.byName && strings.EqualFold(nameOf(f.resource, r), f.text), f.isPath(r):
		if r.Status == string(loci.ContainerArchived) {
			list = &f.archived
		}
	default:
		return
	}
	if !slices.ContainsFunc(*list, func(other Record) bool { return other.ID == r.ID }) {
		*list = append(*list, r)
	}
}

// isPath reports whether the text is the path of an atlas.
func (f *finder) isPath(r Record) bool {
	return f.resource == "atlas" && r.Workspace != "" && strings.EqualFold(pathOf(r), f.text)
}

// pathOf returns the name of an atlas behind that of its workspace, as tables show it.
func pathOf(r Record) string { return r.Workspace + "/" + r.Name }

// one returns the one record that was found. An error does not repeat a name: the answer to a secret of another tenant
// must equal that to any other text.
func (f *finder) one() (Record, error) {
	if len(f.found) == 0 {
		f.found = f.archived
	}
	found := f.found
	shown := strictjson.Shorten(f.text)
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && ListedAs(f.resource) == "member":
		return Record{}, loci.Errorf(loci.CodeNotFound, "There is no member of that address or id: there are %s.",
			enumerate(f.known))
	case len(found) == 0 && f.resource == "agent":
		return Record{}, loci.Errorf(loci.CodeNotFound, "There is no agent of that name or id: there are %s. An agent "+
			"is here from its first call on, and only in the workspaces that you share.", enumerate(f.known))
	case len(found) == 0 && f.byName:
		return Record{}, loci.Errorf(loci.CodeNotFound, "There is no %s of that name or id: there are %s.",
			f.resource, enumerate(f.known))
	case len(found) == 0:
		return Record{}, loci.Errorf(loci.CodeNotFound, "No %s has an id that begins or ends with %s.", f.resource,
			shown)
	}
	advice := "use the whole id of one"
	switch f.resource {
	case "atlas":
		advice = "use the path or the id of one, or name its workspace too"
	case "workspace":
		advice = "use the id of one"
	}
	return Record{}, loci.Errorf(loci.CodeInvalidQuery, "%d %s records answer to %q: %s: %s", len(found), f.resource,
		shown, advice, enumerate(f.describe(found)))
}

// describe names each of several records.
func (f *finder) describe(found []Record) []string {
	lines := make([]string, len(found))
	for i, r := range found {
		label := strictjson.Shorten(r.Label())
		switch {
		case f.resource == "atlas" && r.Workspace != "":
			lines[i] = fmt.Sprintf("%q (%s)", strictjson.Shorten(pathOf(r)), r.ID)
		case f.resource == "workspace" && r.Role != "":
			lines[i] = fmt.Sprintf("%q (%s, you are %s)", label, r.ID, r.Role)
		case label != "" && (f.byName || !f.namesAlone):
			lines[i] = fmt.Sprintf("%s %q", r.ID, label)
		default:
			lines[i] = string(r.ID)
		}
	}
	return lines
}

// tooShort returns the error of a text that is no part of an id.
func (f *finder) tooShort() error {
	article := "A"
	if strings.ContainsAny(f.resource[:1], "aeio") { // a unit, a user
		article = "An"
	}
	given := "" // nothing that could be a part
	if f.length > 0 {
		given = fmt.Sprintf(": %q is too short", f.text)
	}
	return loci.Errorf(loci.CodeNotFound, "%s %s is named by its id, or by at least the first or last %d characters "+
		"of it%s", article, f.resource, minPart, given)
}

// enumerate lists some texts.
func enumerate(texts []string) string {
	switch {
	case len(texts) == 0:
		return "none"
	case len(texts) <= maxListed:
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s, and more", strings.Join(texts[:maxListed], ", "))
}
