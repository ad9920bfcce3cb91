package records

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/strictjson"
)

// Bounds of the members that are read for one answer.
const (
	maxTeams   = 3
	maxMembers = 500 // of a team
)

// PersonFields are the fields with the ids of people. In a list, userId has a name where it has records of all members.
var PersonFields = []string{"archivedBy", "createdBy", "invitedBy", "verifiedBy", "ownerUserId", "userId"}

// An authored record names the people who made it, reviewed it, own it, or invite.
type authored struct {
	workspaceID loci.ID
	people      []loci.ID
}

// ShowsUsers reports whether an input asks for the records of all members, instead of the caller's own.
func ShowsUsers(input []byte) bool {
	var given struct {
		Scope loci.SessionScope `json:"scope"`
	}
	return json.Unmarshal(input, &given) == nil && given.Scope == loci.ScopeManaged
}

// PersonNames returns the names of the people in an answer, by their ids, from the members of its workspaces. In a
// list of nothing but workspaces with one member, nobody has a name: there is nobody else. Versions are those of the
// memory in the input. Unreadable members have no name, and the answer is shown all the same.
func (r Reader) PersonNames(ctx context.Context, input, raw []byte) map[loci.ID]string {
	names, members := map[loci.ID]string{}, r.Table.Op("member.list")
	answer, err := strictjson.Object(raw)
	if err != nil || members == nil {
		return names
	}
	users := ShowsUsers(input)
	records, isList := authoredRecords(answer, raw, users)
	wanted := map[loci.ID]map[loci.ID]bool{} // by workspace
	home := sync.OnceValue(func() loci.ID { return r.workspaceOfInput(ctx, input) })
	for _, a := range records {
		if a.workspaceID == "" {
			a.workspaceID = records[0].workspaceID // a step of a session, a file of a memory
		}
		if a.workspaceID == "" {
			a.workspaceID = home()
		}
		if wanted[a.workspaceID] == nil {
			wanted[a.workspaceID] = map[loci.ID]bool{}
		}
		for _, id := range a.people {
			wanted[a.workspaceID][id] = true
		}
	}
	delete(wanted, "")
	alone := map[loci.ID]string{} // the only members of workspaces
	for _, workspace := range slices.Sorted(maps.Keys(wanted))[:min(maxTeams, len(wanted))] {
		scanned, found := 0, map[loci.ID]string{}
		for m, err := range r.Lists().List(ctx, members, map[string]any{"workspaceId": workspace}) {
			if scanned++; err != nil || scanned > maxMembers {
				break
			}
			if wanted[workspace][m.UserID] {
				found[m.UserID] = m.Name
			}
			if scanned > 1 && len(found) == len(wanted[workspace]) {
				break
			}
		}
		if scanned > 1 || !isList || users {
			maps.Copy(names, found)
		} else {
			maps.Copy(alone, found)
		}
	}
	if len(names) > 0 {
		maps.Copy(names, alone)
	}
	return names
}

// workspaceOfInput returns the workspace of an input or of the memory in it, or "".
func (r Reader) workspaceOfInput(ctx context.Context, input []byte) loci.ID {
	var given struct {
		MemoryID    loci.ID `json:"memoryId"`
		InPath      loci.ID `json:"workspaceId"`
		WorkspaceID loci.ID `json:"workspace_id"`
	}
	if json.Unmarshal(input, &given) != nil || given.MemoryID == "" || r.Table.Op("memory.get") == nil {
		return cmp.Or(given.WorkspaceID, given.InPath)
	}
	m, err := r.find(ctx, "memory", "memoryId", given.MemoryID, "")
	if err != nil {
		return ""
	}
	return m.WorkspaceID
}

// authoredRecords returns the records of an answer that name people: the answer itself, its member, or its lists.
func authoredRecords(answer []strictjson.Member, raw []byte, users bool) (records []authored, isList bool) {
	add := func(raw []byte, users bool) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return
		}
		var a authored
		_ = json.Unmarshal(fields["workspaceId"], &a.workspaceID) // absent or a text
		for _, name := range PersonFields {
			var id loci.ID
			if json.Unmarshal(fields[name], &id) == nil && id != "" && (users || name != "userId") {
				a.people = append(a.people, id)
			}
		}
		if a.people != nil {
			records = append(records, a)
		}
	}
	add(raw, true)
	for _, m := range answer {
		if m.IsObject() {
			add(m.Value, true)
		}
	}
	one := len(records) > 0 // its lists, such as the files of a memory, belong to it
	for _, m := range answer {
		var list []json.RawMessage
		if m.IsArray() && json.Unmarshal(m.Value, &list) == nil {
			before := len(records)
			for _, item := range list {
				add(item, users || one)
			}
			isList = isList || !one && len(records) > before
		}
	}
	return records, isList
}
