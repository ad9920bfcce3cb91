package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// idStart is the beginning of an id that stands for it: at least 8 digits. An id
// begins with the time of its creation in milliseconds, and 8 digits are a minute.
var idStart = regexp.MustCompile(`^[0-9a-f]{8}[0-9a-f-]*$`)

// shortIDStart is the beginning of an id that is too short to stand for it.
var shortIDStart = regexp.MustCompile(`^[0-9a-f]{1,7}$`)

// wholeIDs replaces beginnings of ids in the input of an operation by the ids.
func wholeIDs(ctx context.Context, caller op.Caller, table *op.Table, o *op.Op, input []byte) ([]byte, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil {
		return nil, err
	}
	changed := false
	for _, f := range o.Fields() {
		resource, isID := resourceOf(f.Name)
		var text string
		if !isID || json.Unmarshal(given[f.Name], &text) != nil {
			continue
		}
		text = strings.ToLower(text)
		list := lister(table, resource)
		if list != nil && shortIDStart.MatchString(text) {
			return nil, loci.Fail(loci.InvalidQuery,
				"A %s is named by its id, or by at least the first 8 characters of it: %s has %d",
				resource, text, len(text))
		}
		if loci.ValidID(text) || !idStart.MatchString(text) || list == nil {
			continue
		}
		id, err := wholeID(ctx, caller, list, resource, text)
		if err != nil {
			return nil, err
		}
		given[f.Name], changed = quote(id), true
	}
	if !changed {
		return input, nil
	}
	return json.Marshal(given)
}

// lister returns the operation that lists the records of a resource which the
// caller may name, or nil.
func lister(table *op.Table, resource string) *op.Op {
	for _, verb := range []string{".list", ".pending"} {
		o := table.Op(resource + verb)
		if o != nil && !slices.ContainsFunc(o.Fields(), func(f op.Field) bool { return f.Required }) {
			return o
		}
	}
	return nil
}

// mostLooked is how many records are looked through for the beginning of an id.
const mostLooked = 10_000

// wholeID returns the one id of a list that begins so. It looks at all records:
// an imported one is older than its id.
func wholeID(ctx context.Context, caller op.Caller, list *op.Op, resource, start string) (string, error) {
	var found []record
	looked := 0
	for r, err := range walk(ctx, caller, list, everything(list)) {
		if err != nil {
			return "", err
		}
		if looked++; looked > mostLooked {
			return "", loci.Fail(loci.InvalidQuery, "There are more than %d %s records: give the whole id instead of %s",
				mostLooked, resource, start)
		}
		if strings.HasPrefix(r.ID, start) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0].ID, nil
	case 0:
		return "", loci.Fail(loci.NotFound, "No %s has an id that begins with %s.", resource, start)
	}
	lines := make([]string, len(found))
	for i, r := range found {
		lines[i] = strings.TrimSpace(fmt.Sprintf("%s %s%s", r.ID, r.Title, r.Name))
	}
	return "", loci.Fail(loci.InvalidQuery, "%d ids begin with %s: give more of the one that you mean: %s", len(found),
		start, enumerate(lines))
}

// everything is the filter with which a list leaves out nothing.
func everything(list *op.Op) map[string]any {
	for _, f := range list.Fields() {
		if f.Name == "include" {
			return map[string]any{f.Name: f.Enum}
		}
	}
	return nil
}

// Lengths of ids.
const (
	shownID     = len("01a20489-bb9f") // in a narrow table: the whole time
	wholeLength = 36
)

// shortenIDs cuts the ids of a table to as much as tells them apart.
func shortenIDs(table []*column) {
	for _, c := range table {
		if c.name != "id" {
			continue
		}
		n := shownID
		for cells := c.cells[1:]; n < wholeLength && !differ(cells, n); {
			n++
		}
		for i, cell := range c.cells[1:] {
			if loci.ValidID(cell) {
				c.cells[i+1] = cell[:n]
			}
		}
		c.measure()
	}
}

// differ reports whether no two of the ids have the same first n characters.
func differ(ids []string, n int) bool {
	seen := map[string]bool{}
	for _, id := range ids {
		start := id[:min(n, len(id))]
		if seen[start] {
			return false
		}
		seen[start] = true
	}
	return true
}
