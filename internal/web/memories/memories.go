// Package memories is the group of pages on which people find, read and write memories.
package memories

import (
	"embed"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/web"
)

//go:embed *.html
var files embed.FS

const place = "/app"

// filters are the fields of the address of a search or a list.
var filters = []string{"query", "workspace_id", "atlas_id", "type", "tags", "include", "since", "sort", "cursor"}

// Pages are the pages of the group.
var Pages = web.Group(files,
	web.Page{Path: "/app", Template: "find", Title: "Memories", Place: place, Params: filters, Read: readHome,
		Reads: []string{"workspace.list", "atlas.list", "member.list", "memory.search", "memory.list"}},
	web.Page{Path: "/app/memories", Template: "find", Title: "All memories", Place: place, Params: filters,
		Reads: []string{"workspace.list", "atlas.list", "member.list", "memory.list"}, Read: readList},

	web.Page{Path: "/app/memories/{memoryId}", Template: "memory", Title: "Memory", Place: place, Read: readMemory,
		Reads:   []string{"memory.get", "workspace.get", "atlas.get", "member.list"},
		Notices: notices},
	web.Page{Path: "/app/memories/{memoryId}/verify", Template: "memory", Title: "Memory", Place: place,
		Op: "memory.verify", FormOnly: true, Read: readMemory, Args: verifyArgs, Done: web.Back("verified")},
	web.Page{Path: "/app/memories/{memoryId}/append", Template: "memory", Title: "Memory", Place: place,
		Op: "memory.append", FormOnly: true, MaxForm: maxForm, Read: readMemory, Done: web.Back("added")},
	web.Page{Path: "/app/memories/{memoryId}/archive", Template: "memory", Title: "Memory", Place: place,
		Op: "memory.archive", FormOnly: true, Read: readMemory, Done: web.Back("archived")},
	web.Page{Path: "/app/memories/{memoryId}/restore", Template: "memory", Title: "Memory", Place: place,
		Op: "memory.restore", FormOnly: true, Read: readMemory, Done: web.Back("restored")},
	web.Page{Path: "/app/memories/{memoryId}/files/{attachmentId}", Template: "problem", Title: "File", Place: place,
		Reads: []string{"memory.get", "attachment.download"}, Read: download},

	web.Page{Path: "/app/memories/{memoryId}/edit", Template: "edit", Title: "Edit memory", Place: place,
		Reads: []string{"memory.get", "workspace.get", "atlas.get", "atlas.list"}, Op: "memory.update",
		MaxForm: maxForm, Read: readEdit, Args: editArgs, Done: showEdited},
	web.Page{Path: "/app/memories/{memoryId}/edit/preview", Template: "edit", Title: "Edit memory", Place: place,
		FormOnly: true, MaxForm: maxForm, Submit: readEdit},
	web.Page{Path: "/app/new", Template: "new", Title: "New memory", Place: place, Params: []string{"workspace_id"},
		Reads: []string{"workspace.list", "atlas.list", "memory.search"}, Op: "memory.create", MaxForm: maxForm,
		Read: readNew, Args: newArgs, Done: showCreated},
	web.Page{Path: "/app/new/preview", Template: "new", Title: "New memory", Place: place, FormOnly: true,
		MaxForm: maxForm, Submit: previewNew},

	web.Page{Path: "/app/memories/{memoryId}/versions", Template: "versions", Title: "Versions", Place: place,
		Params: []string{"version", "cursor"}, Read: readVersions,
		Reads: []string{"memory.get", "memory.versions", "workspace.get", "atlas.get", "member.list"}},
	web.Page{Path: "/app/memories/{memoryId}/versions/revert", Template: "versions", Title: "Versions", Place: place,
		Op: "memory.revert", FormOnly: true, Read: readVersions, Done: showReverted},
	web.Page{Path: "/app/context", Template: "context", Title: "As an agent sees it", Place: place,
		Params: []string{"query", "workspace_id"}, Reads: []string{"workspace.list", "memory.context"},
		Read: readContext},
)

// maxForm is the most bytes of a form with the text of a memory, each byte of which may take three.
const maxForm = 4 * loci.MaxContent

var notices = map[string]string{
	"verified":  "Verified. A later change of the text takes the review off again.",
	"added":     "The text was added. The versions keep the text before.",
	"archived":  "Archived. Searches and lists leave it out, and you can restore it at any time.",
	"restored":  "Restored.",
	"saved":     "Saved. The versions keep the text before.",
	"unchanged": "Nothing was different, so there is no new version.",
	"kept":      "Kept.",
	"known":     "This memory was there already, with the same text.",
	"reverted":  "The text of that version is the newest version now.",
}

// readNames returns the names of the members of a workspace.
func readNames(v *web.Visit, w loci.Workspace) web.Names {
	if w.Kind != loci.WorkspaceTeam {
		w.ID = "" // it has the user alone
	}
	return web.ReadNames(v, w.ID)
}
