package memories

import (
	"html/template"
	"math"
	"slices"
	"strconv"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/web"
	"github.com/loci-memory/loci/internal/web/markdown"
)

// A memory is what the page of one shows.
type memory struct {
	loci.MemoryDetail
	Kind      string
	HTML      template.HTML
	Tag       string // the entity tag
	Workspace loci.Workspace
	Atlas     loci.Atlas
	People    web.Names
	// May says that the operations that change it accept the user; Change, that its state allows a change.
	May, Change bool
}

// open reads a memory with its workspace and atlas.
func open(v *web.Visit) (m *memory, err error) {
	m = &memory{}
	m.MemoryDetail, err = web.Read[loci.MemoryDetail](v, "memory.get", "memoryId", v.PathValue("memoryId"))
	if err != nil {
		return nil, err
	}
	m.Tag = v.ETag()
	space, err := web.Read[loci.WorkspaceActivity](v, "workspace.get", "workspaceId", string(m.WorkspaceID))
	if err != nil {
		return nil, err
	}
	atlas, err := web.Read[loci.OneAtlas](v, "atlas.get", "atlasId", string(m.AtlasID))
	if err != nil {
		return nil, err
	}
	m.Workspace, m.Atlas, m.Kind = space.Workspace, atlas.Atlas, web.TypeWords[m.Type]
	m.May = (m.CreatedBy == v.User.ID || m.Workspace.Role != loci.RoleMember) &&
		m.Workspace.Status == loci.ContainerActive && m.Atlas.Status == loci.ContainerActive
	m.Change = m.May && m.Status == loci.MemoryActive
	v.Title = m.Title
	return m, nil
}

// readMemory reads what the page of a memory shows.
func readMemory(v *web.Visit) error {
	m, err := open(v)
	if err != nil {
		return err
	}
	m.HTML, m.People = markdown.HTML(m.Content), readNames(v, m.Workspace)
	v.Data = m
	return nil
}

// verifyArgs makes a review without a field one that says that the text was read.
func verifyArgs(_ *web.Visit, args *op.Args) error {
	if len(args.Params) == 1 { // the id
		args.Params = append(args.Params, op.Param{Name: "confidence", Value: "1"})
	}
	return nil
}

// download sends the browser to a file of the memory.
func download(v *web.Visit) error {
	m, err := web.Read[loci.MemoryDetail](v, "memory.get", "memoryId", v.PathValue("memoryId"))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(m.Attachments, func(a loci.Attachment) bool {
		return string(a.ID) == v.PathValue("attachmentId")
	}) {
		return loci.NewError(loci.CodeNotFound)
	}
	d, err := web.Read[loci.Download](v, "attachment.download", "attachmentId", v.PathValue("attachmentId"))
	if err == nil {
		v.Leave(d.URL)
	}
	return err
}

// Percent returns the confidence of the review, or "".
func (m *memory) Percent() string {
	if m.Confidence == nil {
		return ""
	}
	return strconv.Itoa(int(math.Round(float64(*m.Confidence)*100))) + " %"
}
