package memories

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/web"
)

// A history is what the page of the versions of a memory shows.
type history struct {
	*memory
	Versions []version
	Chosen   *loci.MemoryVersion
	Before   int      // the version that the chosen one is compared with, or 0
	Changes  []change // from that one to the chosen one
	Next     string   // address of the next page
}

// A version is one line of the list.
type version struct {
	loci.MemoryVersion
	Author string
	Path   string
	Chosen bool
}

// readVersions reads the versions of a memory, and compares one of them with the one before it.
func readVersions(v *web.Visit) error {
	h := &history{memory: &memory{}}
	var err error
	h.MemoryDetail, err = web.Read[loci.MemoryDetail](v, "memory.get", "memoryId", v.PathValue("memoryId"))
	if err != nil {
		return err
	}
	h.Tag = v.ETag()
	list, err := web.Read[loci.MemoryVersions](v, "memory.versions", "memoryId", string(h.ID), "cursor",
		v.Values["cursor"])
	if err != nil {
		return err
	}
	space, err := web.Read[loci.WorkspaceActivity](v, "workspace.get", "workspaceId", string(h.WorkspaceID))
	if err != nil {
		return err
	}
	h.May = h.CreatedBy == v.User.ID || space.Workspace.Role != loci.RoleMember
	h.Change = h.May && h.Status == loci.MemoryActive && space.Workspace.Status == loci.ContainerActive
	chosen, _ := strconv.Atoi(cmp.Or(v.Values["version"], "0")) // another text chooses the newest
	at := max(0, slices.IndexFunc(list.Versions, func(m loci.MemoryVersion) bool { return m.Version == chosen }))
	if h.Change = h.Change && at < len(list.Versions) && list.Versions[at].Version != h.Version; h.Change {
		atlas, err := web.Read[loci.OneAtlas](v, "atlas.get", "atlasId", string(h.AtlasID))
		if err != nil {
			return err
		}
		h.Change = atlas.Atlas.Status == loci.ContainerActive
		space.Workspace = loci.Workspace{} // the page runs no more operations: it shows no names of others
	}
	people := readNames(v, space.Workspace)
	for i, m := range list.Versions {
		h.Versions = append(h.Versions, version{m, people.Of(m.CreatedBy),
			v.Link("version", strconv.Itoa(m.Version)), i == at})
	}
	if at < len(list.Versions) {
		h.Chosen = &list.Versions[at]
	}
	if at+1 < len(list.Versions) {
		before := list.Versions[at+1]
		h.Before, h.Changes = before.Version, differences(before.Content, h.Chosen.Content)
	}
	if list.NextCursor != "" {
		h.Next = v.Link("cursor", list.NextCursor, "version", "")
	}
	v.Title, v.Data = "Versions: "+h.Title, h
	return nil
}

// showReverted sends the browser to the memory.
func showReverted(v *web.Visit, out any) error {
	v.Redirect("/app/memories/"+string(out.(loci.OneMemory).Memory.ID), "reverted")
	return nil
}
