package records

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
)

// ContainerNames returns the names of the atlases or workspaces of the records in a list, by their ids, or the name of
// the atlas of one record. In a list an atlas has its workspace's name too where the caller has several, and workspaces
// are named where the records have no atlas.
// Unreadable containers have no name, and the answer is shown all the same.
func (r Reader) ContainerNames(ctx context.Context, o *op.Op, raw []byte) map[loci.ID]string {
	names := map[loci.ID]string{}
	atlases, workspaces := r.Table.Op("atlas.list"), r.Table.Op("workspace.list")
	inAtlases := bytes.Contains(raw, []byte(`"atlasId":`))
	if !o.Paged {
		return r.namesOfRecord(ctx, raw)
	}
	if atlases == nil || workspaces == nil || !inAtlases && !spansWorkspaces(raw) {
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

// namesOfRecord returns the name of the atlas of an answer, or of the record or the routing in it.
func (r Reader) namesOfRecord(ctx context.Context, raw []byte) map[loci.ID]string {
	type placed struct {
		AtlasID loci.ID `json:"atlasId"`
	}
	var answer struct {
		placed
		Memory struct {
			placed
			Routing placed `json:"routing"`
		} `json:"memory"`
		Session placed `json:"session"`
	}
	if r.Table.Op("atlas.get") == nil || json.Unmarshal(raw, &answer) != nil {
		return map[loci.ID]string{}
	}
	id := cmp.Or(answer.AtlasID, answer.Memory.AtlasID, answer.Memory.Routing.AtlasID, answer.Session.AtlasID)
	if id == "" {
		return map[loci.ID]string{}
	}
	atlas, err := r.find(ctx, "atlas", "atlasId", id, "")
	if err != nil {
		return map[loci.ID]string{}
	}
	return map[loci.ID]string{id: atlas.Name}
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
