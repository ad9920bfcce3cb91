package records

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
)

// A Scope is a Caller that keeps an agent within one workspace or one atlas: new memories are stored there, lists and
// searches read there only, and a call that names another place is refused. It is a convenience and not a security
// boundary: the credential decides what may be read.
type Scope struct {
	Reader
	Name    string  // for people: the workspace "Team"
	AtlasID loci.ID // empty means the whole workspace

	workspaceID loci.ID
}

// Scope returns a scope for the workspace and atlas of these names or ids, or nil where both are empty.
func (r Reader) Scope(ctx context.Context, workspace, atlas string) (*Scope, error) {
	s := &Scope{Reader: r}
	if workspace != "" {
		w, err := s.resolve(ctx, "workspace", workspace)
		if err != nil {
			return nil, err
		}
		s.workspaceID, s.Name = w.ID, fmt.Sprintf("the workspace %q", w.Name)
	}
	if atlas != "" {
		a, err := s.resolve(ctx, "atlas", atlas)
		if err != nil {
			return nil, err
		}
		w, err := s.resolve(ctx, "workspace", string(a.WorkspaceID))
		if err != nil {
			return nil, err
		}
		s.workspaceID, s.AtlasID, s.Name = w.ID, a.ID, fmt.Sprintf("the atlas %q of the workspace %q", a.Name, w.Name)
	}
	if s.workspaceID == "" {
		return nil, nil
	}
	return s, nil
}

// AllowedOperations returns the operations of an agent in the scope: those of
// memories, and those that read its workspace and atlas. Operations on people,
// accounts, other places, and operations missing from this list are left out.
func (s *Scope) AllowedOperations() *op.Table {
	var excluded []string
	for _, o := range s.Table.Ops {
		switch resource, _, _ := strings.Cut(o.Name, "."); {
		case resource == "memory", resource == "atlas" && s.AtlasID == "", o.Name == "atlas.get",
			o.Name == "workspace.get":
		default:
			excluded = append(excluded, o.Name)
		}
	}
	within, _ := s.Table.Without(excluded)
	return within
}

// resolve returns the one workspace or atlas with this name or id.
func (s *Scope) resolve(ctx context.Context, resource, wanted string) (found record, err error) {
	var named, begun []record
	var known []string
	start := strings.ToLower(wanted)
	for r, err := range s.list(ctx, s.Table.Op(resource+".list"), nil) {
		if err != nil {
			return record{}, err
		}
		switch {
		case resource == "atlas" && s.workspaceID != "" && r.WorkspaceID != s.workspaceID:
			continue
		case string(r.ID) == wanted:
			return r, nil
		case r.Name == wanted:
			named = append(named, r)
		case idPrefix.MatchString(start) && strings.HasPrefix(string(r.ID), start):
			begun = append(begun, r)
		}
		known = append(known, fmt.Sprintf("%q", r.Name))
	}
	if len(named) == 0 {
		named = begun
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return record{}, loci.Errorf(loci.CodeNotFound, "There is no %s %q: there are %s.", resource, wanted,
			format.Enumerate(known))
	}
	return record{}, s.ambiguousError(ctx, resource, wanted, named)
}

// ambiguousError returns the error for a name or an id prefix of several
// records. It lists them, atlases with their workspaces.
func (s *Scope) ambiguousError(ctx context.Context, resource, wanted string, found []record) error {
	workspaceNames, advice := map[loci.ID]string{}, "use a whole id"
	if resource == "atlas" {
		for w, err := range s.list(ctx, s.Table.Op("workspace.list"), nil) {
			if err != nil {
				return err
			}
			workspaceNames[w.ID] = fmt.Sprintf(" of the workspace %q", w.Name)
		}
		if s.workspaceID == "" {
			advice += ", or name the workspace with --workspace"
		}
	}
	lines := make([]string, len(found))
	for i, r := range found {
		lines[i] = fmt.Sprintf("%s %q%s", r.ID, r.Name, workspaceNames[r.WorkspaceID])
	}
	return loci.Errorf(loci.CodeInvalidQuery, "Several %s records answer to %q: %s: %s", resource, wanted, advice,
		format.Enumerate(lines))
}

// Call runs the operation within the scope.
func (s *Scope) Call(ctx context.Context, o *op.Op, c *op.Call, a op.Args) ([]byte, error) {
	canonical, err := o.Canonical(a)
	if err != nil {
		return nil, err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &given); err != nil {
		return nil, err
	}
	scoped := maps.Clone(given)
	for _, f := range o.Fields() {
		resource := f.Resource
		if resource == "" {
			continue
		}
		var id loci.ID
		if text := given[f.Name]; text != nil {
			if err := json.Unmarshal(text, &id); err != nil {
				return nil, err
			}
		}
		switch {
		case resource == "workspace" && id == "":
			scoped[f.Name] = jsonID(s.workspaceID)
		case resource == "atlas" && id == "" && s.AtlasID != "":
			scoped[f.Name] = jsonID(s.AtlasID)
		case id == "":
		case resource == "memory":
			err = s.checkMemory(ctx, c, id)
		case resource == "atlas":
			err = s.checkAtlas(ctx, c, id)
		case resource != "workspace" || id != s.workspaceID: // a resource that is not known here is outside
			err = s.outsideError(resource, id)
		}
		if err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(scoped)
	if err != nil {
		return nil, err
	}
	return s.Caller.Call(ctx, o, c, op.Args{JSON: text})
}

// checkMemory rejects a memory outside of the scope.
func (s *Scope) checkMemory(ctx context.Context, c *op.Call, id loci.ID) error {
	raw, err := s.getRecord(ctx, c, "memory.get", "memoryId", id)
	if err != nil {
		return err
	}
	var m record
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if m.WorkspaceID != s.workspaceID || s.AtlasID != "" && m.AtlasID != s.AtlasID {
		return s.outsideError("memory", id)
	}
	return nil
}

// checkAtlas rejects another atlas, or one in another workspace.
func (s *Scope) checkAtlas(ctx context.Context, c *op.Call, id loci.ID) error {
	if s.AtlasID != "" {
		if id != s.AtlasID {
			return s.outsideError("atlas", id)
		}
		return nil
	}
	raw, err := s.getRecord(ctx, c, "atlas.get", "atlasId", id)
	if err != nil {
		return err
	}
	var a struct{ Atlas record }
	if err := json.Unmarshal(raw, &a); err != nil {
		return err
	}
	if a.Atlas.WorkspaceID != s.workspaceID {
		return s.outsideError("atlas", id)
	}
	return nil
}

// getRecord reads one record as a part of the call c.
func (s *Scope) getRecord(ctx context.Context, c *op.Call, name, field string, id loci.ID) ([]byte, error) {
	part := &op.Call{Transport: c.Transport, Credential: c.Credential, CredentialKind: c.CredentialKind,
		ActorHeader: c.ActorHeader, Address: c.Address,
		RequestID: c.RequestID}
	return s.Caller.Call(ctx, s.Table.Op(name), part, op.Args{JSON: jsonObject(field, id)})
}

func (s *Scope) outsideError(what string, id loci.ID) error {
	return loci.Errorf(loci.CodeForbidden,
		"The %s %s is outside of %s, to which this connection is narrowed: leave it out, or start loci mcp without "+
			"--workspace and --atlas.",
		what, id, s.Name)
}
