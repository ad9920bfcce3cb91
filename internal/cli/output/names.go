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
		if s.Title != "" {
			texts[i] = fmt.Sprintf("%q (%s, %v)", s.Title, s.ID, s.Score)
		}
	}
	return strings.Join(texts, ", ")
}

// addNames adds to each record the name of its atlas. A record without an atlas gets
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
	}
}

// personFields are the fields with the ids of people.
var personFields = []string{"createdBy", "invitedBy", "verifiedBy"}

// nameWithID returns the name of a person with the id, which distinguishes people of one name. One who left has an id
// alone.
func (p *Printer) nameWithID(id loci.ID) string {
	if name := p.People[id]; name != "" {
		return fmt.Sprintf("%s (%s)", name, id)
	}
	return string(id)
}

// addPeople adds the name of its author, inviter or owner to each record, if any name is known, and that of its user in
// a list of several users. A person who shares the name with another, or who left, has the beginning of the id too.
func (p *Printer) addPeople(records []map[string]json.RawMessage) {
	sameName := map[string]int{}
	for _, name := range p.People {
		sameName[name]++
	}
	for _, r := range records {
		for field, column := range map[string]string{"createdBy": "author", "invitedBy": "inviter",
			"ownerUserId": "owner", "userId": "user"} {
			shown := len(p.People) > 0
			if column == "user" {
				shown = p.ShowUsers
			}
			var id loci.ID
			if !shown || json.Unmarshal(r[field], &id) != nil || id == "" {
				continue
			}
			name, short := p.People[id], string(id)[:min(minShownID, len(id))]
			switch {
			case name == "":
				name = short
			case sameName[name] > 1:
				name += " (" + short + ")"
			}
			r[column] = quote(name)
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
		if c.Name != "id" && c.Name != "userId" {
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
