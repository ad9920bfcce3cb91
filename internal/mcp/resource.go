package mcp

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/strictjson"
)

// Resources are read as Markdown, in which memories are fenced as data.
const (
	memoryURI       = "loci://memory/"
	atlasURI        = "loci://atlas/"
	contextSuffix   = "/context"
	memoryTemplate  = memoryURI + "{memoryId}"
	contextTemplate = atlasURI + "{atlasId}" + contextSuffix
	mimeMarkdown    = "text/markdown"
)

// A resource is an entry of a list of resources, or of templates.
type resource struct {
	Description string `json:"description,omitzero"`
	MIMEType    string `json:"mimeType"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	URI         string `json:"uri,omitzero"`
	URITemplate string `json:"uriTemplate,omitzero"`
}

// templates are the forms of all resources.
var templates = []resource{
	{Name: "memory", Title: "Memory", URITemplate: memoryTemplate, MIMEType: mimeMarkdown,
		Description: "One memory with its full text, quoted as data."},
	{Name: "context", Title: "Context of an atlas", URITemplate: contextTemplate, MIMEType: mimeMarkdown,
		Description: "What an atlas holds that a task needs: verified and recent memories, quoted as data."},
}

func (d *Server) listResourceTemplates(_ context.Context, x *exchange) ([]byte, *rpcError) {
	if err := x.rejectCursor(); err != nil {
		return nil, err
	}
	return d.encodeResult(private(result{"resourceTemplates": templates}), x.isStateless()), nil
}

// listResources lists the contexts of the caller's atlases, page by page.
func (d *Server) listResources(ctx context.Context, x *exchange) ([]byte, *rpcError) {
	cursor, failed := x.param("cursor")
	if failed == nil && cursor != "" && d.AtlasID != "" {
		failed = invalidCursor()
	}
	if failed != nil {
		return nil, failed
	}
	page, err := d.listAtlases(ctx, x.call, cursor, atlasPage)
	switch {
	case cursor != "" && loci.Is(err, loci.CodeInvalidQuery):
		return nil, invalidCursor()
	case err != nil:
		return nil, operationError(err, x.call)
	}
	list := make([]resource, len(page.Atlases))
	for i, a := range page.Atlases {
		list[i] = newAtlasResource(a)
	}
	r := private(result{"resources": list})
	if page.NextCursor != "" {
		r["nextCursor"] = page.NextCursor
	}
	return d.encodeResult(r, x.isStateless()), nil
}

// The most characters of an atlas's name and description in a list.
const (
	maxName        = 200
	maxDescription = 200
)

// newAtlasResource returns the entry of an atlas. Its texts, which stand outside of any quotation, become plain lines.
func newAtlasResource(a loci.Atlas) resource {
	name := fence.Line(a.Name, maxName)
	return resource{Name: name, Title: "Context of " + name, URI: atlasURI + string(a.ID) + contextSuffix,
		Description: fence.Line(a.Description, maxDescription), MIMEType: mimeMarkdown}
}

// readResource reads a memory, or the context of an atlas.
func (d *Server) readResource(ctx context.Context, x *exchange) ([]byte, *rpcError) {
	if err := x.requireParams(); err != nil {
		return nil, err
	}
	uri, failed := x.param("uri")
	if failed == nil && uri == "" {
		failed = invalidParams("params.uri is required.")
	}
	if failed != nil {
		return nil, failed
	}
	markdown, err := d.readURI(ctx, x, uri)
	switch {
	case loci.Is(err, loci.CodeNotFound):
		return nil, x.resourceNotFound(uri)
	case err != nil:
		return nil, operationError(err, x.call)
	}
	return d.encodeResult(private(result{"contents": []any{
		result{"uri": uri, "mimeType": mimeMarkdown, "text": markdown}}}), x.isStateless()), nil
}

// readURI returns the text of a resource. An address of another form names none.
func (d *Server) readURI(ctx context.Context, x *exchange, uri string) (markdown string, err error) {
	if id, ok := strings.CutPrefix(uri, memoryURI); ok && loci.ID(id).Valid() {
		return d.readMemory(ctx, x, loci.ID(id))
	}
	id, ok := strings.CutPrefix(uri, atlasURI)
	if id, isContext := strings.CutSuffix(id, contextSuffix); ok && isContext && loci.ID(id).Valid() {
		return d.readContext(ctx, x.call, loci.ReadContext{AtlasID: loci.ID(id)})
	}
	return "", loci.NewError(loci.CodeNotFound)
}

// readMemory returns one memory under its status, and names the memory that replaced it.
func (d *Server) readMemory(ctx context.Context, x *exchange, id loci.ID) (markdown string, err error) {
	var m loci.MemoryDetail
	if err := d.run(ctx, d.content.memoryGet, x.call, loci.GetMemory{MemoryID: id}, &m); err != nil {
		return "", err
	}
	markdown = fence.Markdown("", []fence.Group{{Name: string(m.Status), Memories: []fence.Memory{{
		ID: string(m.ID), Author: string(m.CreatedBy), Title: m.Title, Content: m.Content, Type: string(m.Type),
		Verified: m.Reviewed(), Expired: m.Expired, Tags: m.Tags}}}})
	if m.SupersededBy != "" {
		markdown += "\nSuperseded by " + memoryURI + string(m.SupersededBy) + "\n"
	}
	return markdown, nil
}

// resourceNotFound returns the error for an address that the caller cannot read. The stateless revision has no code of
// its own for it.
func (x *exchange) resourceNotFound(uri string) *rpcError {
	code := codeResourceNotFound
	if x.isStateless() {
		code = codeInvalidParams
	}
	return &rpcError{Code: code, Message: "Resource not found.", Data: result{"uri": strictjson.Shorten(uri)}}
}
