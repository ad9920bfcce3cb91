package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
)

// formatSimilar returns the similar memories of an answer in one line.
func (p *Printer) formatSimilar(raw json.RawMessage) string {
	var list []struct {
		loci.Similarity
		MemoryID loci.ID `json:"memoryId"` // of a candidate, which has no titles of others
	}
	_ = json.Unmarshal(raw, &list) // an answer of another shape has none
	texts := make([]string, len(list))
	for i, s := range list {
		s.ID = cmp.Or(s.ID, s.MemoryID)
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
				name = format.ShortID(string(workspace), format.MinShortID)
			}
			r["workspace"] = quote(name)
		}
	}
}

// containerFields are the fields with the ids of atlases and workspaces.
var containerFields = []string{"atlasId", "workspaceId"}

// nameWithID returns the name of a record with the id, which distinguishes records of one name. Without a name it is
// the id alone.
func nameWithID(names map[loci.ID]string, id loci.ID) string {
	if name := names[id]; name != "" {
		return fmt.Sprintf("%s (%s)", name, id)
	}
	return string(id)
}

// addPeople adds the name of its author, inviter or owner to each record, if any name is known, and that of its user in
// a list of several users. A person who shares the name with another, or who left, has the end of the id too.
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
			name, short := p.People[id], format.ShortID(string(id), format.MinShortID)
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

// shortenIDs shortens the ids in each column of a table to ends that differ.
func shortenIDs(table []*column) {
	for _, c := range table {
		ids := map[string]bool{}
		for _, cell := range c.cells[1:] {
			if loci.ID(cell).Valid() {
				ids[cell] = true
			}
		}
		n := format.MinShortID
		for !distinctEnds(ids, n) {
			n++
		}
		for i, cell := range c.cells[1:] {
			if ids[cell] {
				c.cells[i+1] = format.ShortID(cell, n)
			}
		}
		c.measure()
	}
}

// distinctEnds reports whether no two of the different ids have the same last n characters.
func distinctEnds(ids map[string]bool, n int) bool {
	seen := map[string]bool{}
	for id := range ids {
		seen[format.ShortID(id, n)] = true
	}
	return len(seen) == len(ids)
}
