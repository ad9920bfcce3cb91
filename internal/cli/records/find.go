package records

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
)

// Describe returns a phrase that names the records in the input of an operation, for a confirmation: the member "Ada"
// (id) of the workspace "Team" (id). An operation on the account names the caller. A missing record is an error.
func (r Reader) Describe(ctx context.Context, o *op.Op, input []byte) (phrase string, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil {
		return "", err
	}
	var workspaceID loci.ID
	for _, f := range o.Fields() {
		var id loci.ID
		if f.Resource == "" || json.Unmarshal(given[f.Name], &id) != nil {
			continue
		}
		found, err := r.find(ctx, f.Resource, f.Name, id, workspaceID)
		if loci.Is(err, loci.CodeNotFound) && given["token"] != nil { // the holder of a link may not list its record
			err = nil
		}
		if err != nil {
			return "", err
		}
		found.ID = id
		switch text := describe(found, resolve.ListedAs(f.Resource)); {
		case phrase == "":
			phrase = text
		case f.Location == op.InPath:
			phrase = text + " of " + phrase
		default:
			phrase += " to " + text
		}
		if f.Resource == "workspace" {
			workspaceID = id
		}
	}
	resource, _, _ := strings.Cut(o.Name, ".")
	if me := r.Table.Op("account.me"); phrase == "" && resource == "account" && me != nil {
		var answer struct{ User resolve.Record }
		raw, err := r.call(ctx, me, []byte("{}"))
		if err == nil {
			err = json.Unmarshal(raw, &answer)
		}
		return describe(answer.User, "account"), err
	}
	return phrase, nil
}

// describe names a record for people.
func describe(r resolve.Record, resource string) string {
	text, id := "the "+strings.ReplaceAll(resource, "_", " "), string(r.ID)
	name := format.StripControl(r.Label(), false)
	if name == "" {
		return text + " " + id
	}
	if r.Email != "" && r.Email != r.Label() {
		id = format.StripControl(r.Email, false) + ", " + id
	}
	text = fmt.Sprintf("%s %q (%s)", text, name, id)
	if r.Workspace != "" {
		text += fmt.Sprintf(" to the workspace %q", format.StripControl(r.Workspace, false))
	}
	return text
}

// DryRun describes the records that an operation with the field dry_run would delete, or returns "".
func (r Reader) DryRun(ctx context.Context, o *op.Op, input []byte) (string, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil {
		return "", err
	}
	if !slices.ContainsFunc(o.Fields(), func(f op.Field) bool { return f.Name == "dry_run" }) {
		return "", nil
	}
	given["dry_run"] = json.RawMessage("true")
	in, err := json.Marshal(given)
	if err != nil {
		return "", err
	}
	raw, err := r.call(ctx, o, in)
	if err != nil {
		return "", err
	}
	var counts struct{ Memories, Attachments int64 }
	if err := json.Unmarshal(raw, &counts); err != nil {
		return "", err
	}
	text := format.Plural(counts.Memories, "memory", "memories")
	if counts.Attachments > 0 {
		text += " and " + format.Plural(counts.Attachments, "attachment", "attachments")
	}
	return text, nil
}

// find reads the record of an id with its get operation, or else from the lists.
func (r Reader) find(ctx context.Context, resource, field string,
	id, workspaceID loci.ID) (found resolve.Record, err error) {
	if get := r.Table.Op(resource + ".get"); get != nil {
		raw, err := r.call(ctx, get, jsonObject(field, id))
		var answer map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(raw, &answer)
		}
		if err != nil {
			return found, err
		}
		if inner, ok := answer[resource]; ok { // most answers nest the record
			raw = inner
		}
		return found, json.Unmarshal(raw, &found)
	}
	if len(r.Lists().ListsOf(resource)) == 0 {
		return found, nil
	}
	for one, err := range r.Lists().All(ctx, resource, workspaceID) {
		if err != nil || one.ID == id {
			return one, err
		}
	}
	return found, loci.Errorf(loci.CodeNotFound, "No %s has the id %s.", resolve.ListedAs(resource), id)
}

func jsonID(id loci.ID) json.RawMessage {
	b, _ := json.Marshal(id) // a text
	return b
}

func jsonObject(name string, id loci.ID) []byte {
	b, _ := json.Marshal(map[string]loci.ID{name: id}) // texts
	return b
}
