package records

import (
	"bytes"
	"context"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
)

// ContainerNames returns the names of the atlases or workspaces of the records in a list, by their ids. An atlas
// has its workspace's name too where the caller has several. Workspaces are named where the records have no atlas.
// Unreadable containers have no name, and the answer is shown all the same.
func (r Reader) ContainerNames(ctx context.Context, o *op.Op, raw []byte) map[loci.ID]string {
	names := map[loci.ID]string{}
	atlases, workspaces := r.Table.Op("atlas.list"), r.Table.Op("workspace.list")
	inAtlases := bytes.Contains(raw, []byte(`"atlasId":`))
	if atlases == nil || workspaces == nil || !o.Paged || !inAtlases && !spansWorkspaces(raw) {
		return names
	}
	for w, err := range r.Lists().List(ctx, workspaces, resolve.Unfiltered(workspaces)) {
		if err != nil {
			return map[loci.ID]string{}
		}
		names[w.ID] = w.Name
	}
	if !inAtlases {
		return names
	}
	scanned, several := 0, len(names) > 1
	for a, err := range r.Lists().List(ctx, atlases, resolve.Unfiltered(atlases)) {
		if scanned++; err != nil || scanned > maxAtlases {
			break
		}
		names[a.ID] = a.Name
		if several {
			names[a.ID] = names[a.WorkspaceID] + "/" + a.Name
		}
	}
	return names
}

// spansWorkspaces reports whether the records of a list belong to several workspaces.
func spansWorkspaces(raw []byte) bool {
	list, _, err := resolve.ParsePage(raw)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(list, func(r resolve.Record) bool { return r.WorkspaceID != list[0].WorkspaceID })
}

// maxAtlases is the number of atlases whose names are read.
const maxAtlases = 10_000
