package records

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
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
	lists := r.Lists()
	if workspace != "" {
		w, err := lists.Find(ctx, "workspace", "", workspace)
		if err != nil {
			return nil, err
		}
		s.workspaceID, s.Name = w.ID, fmt.Sprintf("the workspace %q", w.Name)
	}
	if atlas != "" {
		a, err := lists.Find(ctx, "atlas", s.workspaceID, atlas)
		if err != nil {
			return nil, err
		}
		w, err := lists.Find(ctx, "workspace", "", string(a.WorkspaceID))
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
		case resource == "atlas" && id == "" && s.AtlasID != "" && o.Name != "memory.update": // it would be a move
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
	var m resolve.Record
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
	var a struct{ Atlas resolve.Record }
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
