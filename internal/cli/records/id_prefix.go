package records

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
)

// idPrefix matches a prefix of an id that may replace it: at least 8 digits. An id begins with the time of its creation
// in milliseconds, and 8 digits cover a minute. That of an agent has a prefix of its own.
var idPrefix = regexp.MustCompile(`^(` + loci.AgentIDPrefix + `)?[0-9a-f]{8}[0-9a-f-]*$`)

// tooShortIDPrefix matches a prefix of an id that is too short.
var tooShortIDPrefix = regexp.MustCompile(`^(` + loci.AgentIDPrefix + `[0-9a-f]{0,7}|[0-9a-f]{1,7})$`)

// ExpandIDs expands id prefixes in the input of an operation.
func (r Reader) ExpandIDs(ctx context.Context, o *op.Op, input []byte) ([]byte, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil {
		return nil, err
	}
	changed := false
	var workspaceID loci.ID
	for _, f := range o.Fields() {
		ids := idsIn(f, given[f.Name])
		for i, text := range ids {
			id, err := r.expandText(ctx, f.Resource, workspaceID, string(text))
			if err != nil {
				return nil, err
			}
			changed = changed || id != text
			ids[i] = id
		}
		switch {
		case ids == nil:
			continue
		case f.List:
			given[f.Name] = jsonIDs(ids)
		default:
			given[f.Name] = jsonID(ids[0])
		}
		if f.Resource == "workspace" && !f.List {
			workspaceID = ids[0]
		}
	}
	if !changed {
		return input, nil
	}
	return json.Marshal(given)
}

// idsIn returns the ids or id prefixes in the value of a field, or nil. The operation refuses a value of another type.
func idsIn(f op.Field, value json.RawMessage) (ids []loci.ID) {
	var id loci.ID
	switch {
	case f.Resource == "":
	case f.List && json.Unmarshal(value, &ids) != nil:
		return nil
	case !f.List && json.Unmarshal(value, &id) == nil:
		ids = []loci.ID{id}
	}
	return ids
}

// expandText returns the id for the text of an id prefix, and any other text unchanged.
func (r Reader) expandText(ctx context.Context, resource string, workspaceID loci.ID, given string) (loci.ID, error) {
	text := strings.ToLower(given)
	switch {
	case text == "" || len(r.lists(resource)) == 0 || loci.ID(text).Valid():
		return loci.ID(given), nil
	case tooShortIDPrefix.MatchString(text):
		return "", loci.Errorf(loci.CodeInvalidQuery,
			"%s %s is named by its id, or by at least the first 8 characters of it: %s has %d",
			article(resource), resource, text, len(text))
	case !idPrefix.MatchString(text):
		return "", r.unknownID(resource, jsonID(loci.ID(given)))
	}
	return r.expandID(ctx, resource, workspaceID, text)
}

// article returns the indefinite article of a resource at the beginning of a sentence.
func article(resource string) string {
	if strings.ContainsAny(resource[:1], "aeio") { // a unit, a user
		return "An"
	}
	return "A"
}

// unknownID returns the error of a text that cannot be an id, such as a name.
func (r Reader) unknownID(resource string, text json.RawMessage) error {
	lists := r.lists(resource)
	command := format.Kebab(strings.Replace(lists[len(lists)-1].Name, ".", " ", 1))
	return loci.Errorf(loci.CodeNotFound, "No %s has the id %s: loci %s shows the ids.", resource, text, command)
}

// maxScanned is the number of records that are searched for an id prefix.
const maxScanned = 10_000

// expandID returns the one id of a list with a prefix. It reads all records: an imported record is older than its id.
func (r Reader) expandID(ctx context.Context, resource string, workspaceID loci.ID, start string) (loci.ID, error) {
	var found []record
	scanned := 0
	for one, err := range r.all(ctx, resource, workspaceID) {
		if err != nil {
			return "", err
		}
		if scanned++; scanned > maxScanned {
			return "", loci.Errorf(loci.CodeInvalidQuery,
				"There are more than %d %s records: give the whole id instead of %s",
				maxScanned, resource, start)
		}
		if strings.HasPrefix(string(one.ID), start) && !slices.ContainsFunc(found, one.isSame) {
			found = append(found, one)
		}
	}
	switch len(found) {
	case 1:
		return found[0].ID, nil
	case 0:
		return "", loci.Errorf(loci.CodeNotFound, "No %s has an id that begins with %s.", resource, start)
	}
	lines := make([]string, len(found))
	for i, one := range found {
		lines[i] = strings.TrimSpace(fmt.Sprintf("%s %s", one.ID, one.name()))
	}
	return "", loci.Errorf(loci.CodeInvalidQuery, "%d ids begin with %s: give more of the one that you mean: %s",
		len(found),
		start, format.Enumerate(lines))
}
