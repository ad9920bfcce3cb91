package resolve

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// Omittable reports whether a person may leave out a required field, because Complete finds it: the session of a
// candidate, and the workspace of a list.
func Omittable(o *op.Op, f op.Field) bool {
	switch {
	case f.Resource == "session" && f.Location == op.InPath:
		return slices.ContainsFunc(o.Fields(), func(f op.Field) bool { return f.Name == "candidateId" })
	case f.Resource == "workspace" && f.Location == op.InQuery:
		return f.Required
	}
	return false
}

// Complete adds the omittable fields that the input of an operation lacks.
func (r Reader) Complete(ctx context.Context, o *op.Op, input []byte) ([]byte, error) {
	for _, f := range o.Fields() {
		var given map[string]json.RawMessage
		if !Omittable(o, f) || json.Unmarshal(input, &given) != nil || given[f.Name] != nil {
			continue
		}
		found := map[string]loci.ID{}
		var err error
		if f.Resource == "workspace" {
			found[f.Name], err = r.defaultWorkspace(ctx)
		} else {
			var text string
			_ = json.Unmarshal(given["candidateId"], &text) // no text names a candidate
			var c Record
			c, err = r.Find(ctx, "candidate", "", text)
			found["candidateId"], found[f.Name] = c.ID, c.SessionID
		}
		for name, id := range found {
			given[name], _ = json.Marshal(id) // a text
		}
		if err == nil {
			input, err = json.Marshal(given)
		}
		if err != nil {
			return nil, err
		}
	}
	return input, nil
}

// defaultWorkspace returns the only team of the caller, in which its own agents are too, or else the personal
// workspace.
func (r Reader) defaultWorkspace(ctx context.Context) (id loci.ID, err error) {
	var personal, teams []loci.ID
	for w, err := range r.List(ctx, r.Table.Op("workspace.list"), nil) {
		if err != nil {
			return "", err
		}
		if w.Kind == string(loci.WorkspacePersonal) {
			personal = append(personal, w.ID)
		} else {
			teams = append(teams, w.ID)
		}
	}
	switch {
	case len(teams) == 1:
		return teams[0], nil
	case len(personal) > 0:
		return personal[0], nil
	}
	return "", loci.Errorf(loci.CodeInvalidQuery, "Name a workspace with --workspace-id.")
}
