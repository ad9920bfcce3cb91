package mcp

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
)

// contentOps are the operations that resources, prompts and completions run.
type contentOps struct{ memoryGet, memoryContext, atlasGet, atlasList *op.Op }

func newContentOps(t *op.Table) contentOps {
	return contentOps{t.Op("memory.get"), t.Op("memory.context"), t.Op("atlas.get"), t.Op("atlas.list")}
}

// run runs an operation of the caller and decodes its output. It counts as any other call of the operation.
func (d *Server) run(ctx context.Context, o *op.Op, c *op.Call, in, out any) error {
	if o == nil { // a table without the operation has none of its records
		return loci.NewError(loci.CodeNotFound)
	}
	raw, err := d.Caller.Call(ctx, o, c, op.Args{JSON: encode(in)})
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// contextTokens bounds a snapshot, as the tool memory_context does by default.
const contextTokens = 8000

// readContext returns a snapshot as Markdown, in which every memory is fenced as data.
func (d *Server) readContext(ctx context.Context, c *op.Call, in loci.ReadContext) (markdown string, err error) {
	if in.MaxTokens == 0 {
		in.MaxTokens = contextTokens
	}
	var out struct{ Markdown string }
	err = d.run(ctx, d.content.memoryContext, c, in, &out)
	return out.Markdown, err
}

// atlasPage is the most atlases of a page of resources.
const atlasPage = 50

// listAtlases returns a page of the caller's active atlases, newest first.
func (d *Server) listAtlases(ctx context.Context, c *op.Call, cursor string, limit int) (loci.Atlases, error) {
	if d.AtlasID != "" {
		var one loci.OneAtlas
		err := d.run(ctx, d.content.atlasGet, c, loci.GetAtlas{AtlasID: d.AtlasID}, &one)
		return loci.Atlases{Atlases: []loci.Atlas{one.Atlas}}, err
	}
	var page loci.Atlases
	err := d.run(ctx, d.content.atlasList, c,
		loci.ListAtlases{Paging: loci.Paging{Limit: loci.Limit(limit), Cursor: loci.Cursor(cursor)}}, &page)
	return page, err
}

// allAtlases iterates over the caller's active atlases, newest first.
func (d *Server) allAtlases(ctx context.Context, c *op.Call) iter.Seq2[resolve.Record, error] {
	if d.AtlasID == "" && d.content.atlasList != nil {
		return d.recordLists(c).List(ctx, d.content.atlasList, nil)
	}
	return func(yield func(resolve.Record, error) bool) {
		page, err := d.listAtlases(ctx, c, "", 1)
		if err != nil {
			yield(resolve.Record{}, err)
			return
		}
		for _, a := range page.Atlases {
			if !yield(resolve.Record{ID: a.ID, Name: a.Name}, nil) {
				return
			}
		}
	}
}

// operationError returns the JSON-RPC error of an operation that failed. Its data is the error of every transport.
func operationError(err error, c *op.Call) *rpcError {
	e := loci.AsError(err)
	code := codeOperationFailed
	switch {
	case e.Code == loci.CodeInternalError:
		code = codeInternalError
	case e.Code.Status() == 400, e.Code == loci.CodeNotFound:
		code = codeInvalidParams
	}
	return &rpcError{Code: code, Message: op.RetryMessage(e), Data: op.NewErrorBody(e, c.RequestID)}
}
