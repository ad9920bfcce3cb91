package memories

import (
	"encoding/json"
	"html/template"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/web"
	"github.com/loci-memory/loci/internal/web/markdown"
)

// A draft is a text that a person writes: as it stands, or as it was typed.
type draft struct {
	Title, Content, Tags       string
	Types, Workspaces, Atlases []web.Choice
	HTML                       template.HTML // the preview
	Similar                    []hit         // memories that say nearly the same
	Looked                     bool          // Similar was looked for
}

// Text returns the draft that a page shows.
func (d *draft) Text() *draft { return d }

// typed fills in what a form has.
func (d *draft) typed(v *web.Visit) {
	d.Title, d.Content, d.Tags = v.Values["title"], v.Values["content"], v.Values["tags"]
}

// setAtlases offers the atlases of a workspace.
func (d *draft) setAtlases(v *web.Visit, workspace, chosen string) error {
	list, err := web.Read[loci.Atlases](v, "atlas.list", "workspace_id", workspace, "limit", "100")
	for _, a := range list.Atlases {
		d.Atlases = append(d.Atlases, web.NewChoice(string(a.ID), a.Name, chosen))
	}
	return err
}

// An edit is what the page that changes a memory shows.
type edit struct {
	*memory
	Draft draft
}

// readEdit reads a memory that the user may change.
func readEdit(v *web.Visit) error {
	m, err := open(v)
	if err != nil {
		return err
	}
	switch {
	case !m.May:
		return loci.Errorf(loci.CodeForbidden, "Its author and the admins of its workspace change this memory.")
	case !m.Change:
		return loci.Errorf(loci.CodeStateConflict, "This memory is %s: restore it before you change it.", m.Status)
	}
	d := draft{Content: m.Content, Tags: web.TagText(m.Tags), Title: m.Title}
	if m.TitleDerived {
		d.Title = ""
	}
	kind, atlas := string(m.Type), string(m.AtlasID)
	if v.Form != nil {
		d.typed(v)
		kind, atlas = v.Values["type"], v.Values["atlasId"]
	}
	d.Types, d.HTML = web.TypeChoices(kind), markdown.HTML(d.Content)
	if err := d.setAtlases(v, string(m.WorkspaceID), atlas); err != nil {
		return err
	}
	v.Title = "Edit: " + m.Title
	v.Data = &edit{m, d}
	return nil
}

// Text returns the draft that the page shows.
func (e *edit) Text() *draft { return &e.Draft }

// Differences are those of the text that stands to the one that was typed.
func (e *edit) Differences() []change { return differences(e.Content, e.Draft.Content) }

// lineFeeds replaces the ends of lines as browsers and forms do.
var lineFeeds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// editArgs makes the fields of the form those of memory.update. An empty title follows the text. A text that differs
// only in the ends of its lines stays as it is.
func editArgs(v *web.Visit, args *op.Args) error {
	fields := formFields(v)
	if title, ok := fields["title"]; ok && title == "" {
		fields["title"] = nil
	}
	m, err := web.Read[loci.MemoryDetail](v, "memory.get", "memoryId", v.PathValue("memoryId"))
	if err != nil {
		return err
	}
	if typed := fields["content"]; typed != m.Content && typed == lineFeeds.Replace(m.Content) {
		delete(fields, "content")
	}
	args.Params = []op.Param{{Name: "memoryId", Value: v.PathValue("memoryId")}}
	args.JSON, _ = json.Marshal(fields) // texts alone
	return nil
}

// formFields are the fields of a memory in a form. Those that were left empty are absent, but for title and tags.
func formFields(v *web.Visit) map[string]any {
	fields := map[string]any{}
	for _, name := range []string{"title", "content", "type", "workspaceId", "atlasId"} {
		if v.Form.Has(name) && (v.Form.Get(name) != "" || name == "title") {
			fields[name] = v.Form.Get(name)
		}
	}
	if v.Form.Has("tags") {
		tags := []string{}
		for _, tag := range op.SplitList(v.Form.Get("tags")) {
			if tag = strings.TrimSpace(tag); tag != "" {
				tags = append(tags, tag)
			}
		}
		fields["tags"] = tags
	}
	return fields
}

// showEdited sends the browser to the changed memory.
func showEdited(v *web.Visit, out any) error {
	did := "saved"
	if out.(loci.OneMemory).Memory.Unchanged {
		did = "unchanged"
	}
	v.Redirect("/app/memories/"+string(out.(loci.OneMemory).Memory.ID), did)
	return nil
}

// readNew reads what the page of a new memory shows.
func readNew(v *web.Visit) error {
	d := &draft{Types: web.TypeChoices(string(loci.TypeNote))}
	workspace, atlas := v.Values["workspace_id"], ""
	if v.Form != nil {
		d.typed(v)
		workspace, atlas, d.Types = v.Values["workspaceId"], v.Values["atlasId"], web.TypeChoices(v.Values["type"])
	}
	spaces, err := web.Read[loci.Workspaces](v, "workspace.list", "limit", "100")
	if err != nil {
		return err
	}
	for _, w := range spaces.Workspaces {
		if workspace == "" && w.Kind == loci.WorkspacePersonal {
			workspace = string(w.ID)
		}
	}
	for _, w := range spaces.Workspaces {
		d.Workspaces = append(d.Workspaces, web.NewChoice(string(w.ID), w.Name, workspace))
	}
	d.HTML = markdown.HTML(d.Content)
	if err := d.setAtlases(v, workspace, atlas); err != nil {
		return err
	}
	v.Data = d
	return nil
}

// previewNew shows the text as it will look, and what is said already.
func previewNew(v *web.Visit) error {
	if err := readNew(v); err != nil {
		return err
	}
	d := v.Data.(*draft)
	query := []rune(strings.ToValidUTF8(strings.TrimSpace(d.Title+" "+d.Content), ""))
	if len(query) == 0 {
		return nil
	}
	found, err := web.Read[loci.FoundMemories](v, "memory.search", "query", string(query[:min(len(query), 180)]),
		"workspace_id", v.Values["workspaceId"], "limit", "5")
	if err != nil {
		return nil // the preview is shown without it
	}
	d.Looked = true
	for _, m := range found.Memories {
		d.Similar = append(d.Similar, hit{Memory: m.Memory})
	}
	return nil
}

// newArgs makes the fields of the form those of memory.create.
func newArgs(v *web.Visit, args *op.Args) error {
	fields := formFields(v)
	if fields["title"] == "" {
		delete(fields, "title")
	}
	fields["onDuplicate"] = loci.OnDuplicateReturn
	args.Params = nil
	args.JSON, _ = json.Marshal(fields) // texts alone
	return nil
}

// showCreated sends the browser to the new memory, or to the one that has the same text.
func showCreated(v *web.Visit, out any) error {
	created, did := out.(loci.CreatedMemory), "kept"
	if !created.Created() {
		did = "known"
	}
	v.Redirect("/app/memories/"+string(created.Memory.ID), did)
	return nil
}
