package replica

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/resolve"
	"github.com/loci-memory/loci/internal/service"
)

// open reads who the caller is, and the workspace of that name or id. An empty name is the personal workspace or,
// for a token without it, the only one.
func (s *side) open(ctx context.Context, workspace string) error {
	me, err := call(ctx, s, service.AccountMe, loci.Empty{})
	if err != nil {
		return err
	}
	if s.user = me.User.ID; s.user == "" {
		return loci.Errorf(loci.CodeUnavailable, "The server does not answer as a Loci server does: check the address")
	}
	var all []loci.Workspace
	for w, err := range loci.AllItems(fullPages, func(p loci.Paging) ([]loci.Workspace, loci.Page, error) {
		found, err := call(ctx, s, service.WorkspaceList, loci.ListWorkspaces{Paging: p})
		return found.Workspaces, found.Page, err
	}) {
		if err != nil {
			return err
		}
		all = append(all, w)
	}
	if s.workspace, err = chooseWorkspace(all, workspace); err != nil {
		return err
	}
	return s.listAtlases(ctx)
}

// chooseWorkspace returns the workspace of a name or id, or the default one.
func chooseWorkspace(all []loci.Workspace, wanted string) (loci.Workspace, error) {
	var names []string
	for _, w := range all {
		if wanted == "" && (w.Kind == loci.WorkspacePersonal || len(all) == 1) {
			return w, nil
		}
		names = append(names, fmt.Sprintf("%q", w.Name))
	}
	if wanted == "" {
		return loci.Workspace{}, loci.Errorf(loci.CodeInvalidQuery,
			"The login does not reach your personal workspace: name another with --workspace. There are %s.",
			strings.Join(names, ", "))
	}
	r, err := resolve.Find("workspace", wanted, func(yield func(resolve.Record, error) bool) {
		for _, w := range all {
			if !yield(resolve.Record{ID: w.ID, Name: w.Name, Role: string(w.Role), Status: string(w.Status)}, nil) {
				return
			}
		}
	})
	if err != nil {
		return loci.Workspace{}, err
	}
	return all[slices.IndexFunc(all, func(w loci.Workspace) bool { return w.ID == r.ID })], nil
}

// listAtlases reads the atlases of the workspace, newest first.
func (s *side) listAtlases(ctx context.Context) error {
	s.atlasNames = map[loci.ID]string{}
	for a, err := range loci.AllItems(fullPages, func(p loci.Paging) ([]loci.Atlas, loci.Page, error) {
		found, err := call(ctx, s, service.AtlasList, loci.ListAtlases{WorkspaceID: s.workspace.ID,
			Include: []loci.IncludeArchivedOnly{loci.IncludeArchivedOnly(loci.IncludeArchived)}, Paging: p})
		return found.Atlases, found.Page, err
	}) {
		if err != nil {
			return err
		}
		s.addAtlas(a)
	}
	return nil
}

func (s *side) addAtlas(a loci.Atlas) {
	s.atlases = append(s.atlases, a)
	s.atlasNames[a.ID] = a.Name
}

// findAtlas returns the atlas for memories of an atlas of the other side: the default one for the default one, else the
// oldest of its name, an active one first.
func (s *side) findAtlas(of loci.Atlas) (found loci.Atlas, ok bool) {
	for _, a := range s.atlases {
		switch {
		case of.Default && a.Default:
			return a, true
		case of.Default || a.Name != of.Name || ok && a.Status != loci.ContainerActive &&
			found.Status == loci.ContainerActive:
		default:
			found, ok = a, true
		}
	}
	return found, ok
}

// A target is the atlas for the memories of an atlas of the other side, or the reason why there is none.
type target struct {
	id  loci.ID // empty means that the server chooses: the workspace has no Inbox yet
	err error
}

// targetAtlas returns the atlas on side to for memories of an atlas of the other side, and creates a missing one.
func (r *run) targetAtlas(ctx context.Context, to *side, id loci.ID) (loci.ID, error) {
	t, known := r.targets[id]
	if !known {
		t.id, t.err = r.findOrCreateAtlas(ctx, to, id)
		if fatal(t.err) {
			return "", t.err
		}
		if t.id != "" || t.err != nil { // a create may make the Inbox
			r.targets[id] = t
		}
	}
	return t.id, t.err
}

func (r *run) findOrCreateAtlas(ctx context.Context, to *side, id loci.ID) (loci.ID, error) {
	out, err := call(ctx, r.other(to), service.AtlasGet, loci.GetAtlas{AtlasID: id})
	if err != nil {
		return "", err
	}
	if a, ok := to.findAtlas(out.Atlas); ok || out.Atlas.Default {
		return a.ID, nil
	}
	in := loci.CreateAtlas{Name: loci.Name(out.Atlas.Name), WorkspaceID: to.workspace.ID,
		Description: loci.Description(out.Atlas.Description)}
	for _, k := range out.Atlas.Keywords {
		in.Keywords = append(in.Keywords, loci.Keyword(k))
	}
	made, err := call(ctx, to, service.AtlasCreate, in)
	if err == nil {
		to.addAtlas(made.Atlas)
		r.report.Atlases++
	}
	return made.Atlas.ID, err
}
