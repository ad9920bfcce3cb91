package output

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
)

// formatSimilar returns the similar memories of an answer in one line.
func (p *Printer) formatSimilar(raw json.RawMessage) string {
	var list []loci.Similarity
	_ = json.Unmarshal(raw, &list) // an answer of another shape has none
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = fmt.Sprintf("%s (%v)", s.ID, s.Score)
		if title := p.Names[s.ID]; title != "" {
			texts[i] = fmt.Sprintf("%q (%s, %v)", title, s.ID, s.Score)
		}
	}
	return strings.Join(texts, ", ")
}

// addNames adds to each record its title if that is known, and the name of its atlas. A record without an atlas gets
// the name of its workspace, if the records belong to several.
func addNames(records []map[string]json.RawMessage, names map[loci.ID]string) {
	idOf := func(r map[string]json.RawMessage, field string) (id loci.ID) {
		_ = json.Unmarshal(r[field], &id) // an absent field is empty
		return id
	}
	workspaces := map[loci.ID]bool{}
	for _, r := range records {
		workspaces[idOf(r, "workspaceId")] = true
	}
	for _, r := range records {
		atlas, workspace := names[idOf(r, "atlasId")], idOf(r, "workspaceId")
		switch {
		case atlas != "":
			r["atlas"] = quote(atlas)
		case len(workspaces) > 1 && workspace != "" && r["atlasId"] == nil && r["workspaceName"] == nil:
			name := names[workspace]
			if name == "" {
				name = string(workspace)[:min(minShownID, len(workspace))]
			}
			r["workspace"] = quote(name)
		}
		if title := names[idOf(r, "id")]; title != "" && r["score"] != nil && r["title"] == nil {
			r["title"] = quote(title)
		}
	}
}

// quote returns a text as JSON.
func quote(text string) json.RawMessage {
	b, _ := json.Marshal(text) // never fails
	return b
}

// Lengths of ids.
const (
	minShownID = len("01a20489-bb9f") // in a narrow table: the whole time
	idLength   = 36
)

// shortenIDs shortens the ids of a table to distinct prefixes.
func shortenIDs(table []*column) {
	for _, c := range table {
		if c.Name != "id" {
			continue
		}
		n := minShownID
		for cells := c.cells[1:]; n < idLength && !distinctPrefixes(cells, n); {
			n++
		}
		for i, cell := range c.cells[1:] {
			if loci.ID(cell).Valid() {
				c.cells[i+1] = cell[:n]
			}
		}
		c.measure()
	}
}

// distinctPrefixes reports whether no two of the ids have the same first n characters.
func distinctPrefixes(ids []string, n int) bool {
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
