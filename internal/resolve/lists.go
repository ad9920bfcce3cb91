package resolve

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// ListedAs returns the resource in whose lists the records of a resource are: users are listed as members.
func ListedAs(resource string) string {
	if resource == "user" {
		return "member"
	}
	return resource
}

// ListsOf returns the operations that list the records of a resource: of all workspaces, or of one.
func (r Reader) ListsOf(resource string) (ops []*op.Op) {
	resource = ListedAs(resource)
	names := []string{resource + ".pending", resource + ".list"}
	switch resource {
	case "candidate":
		names = []string{"session.candidates"}
	case "message":
		names = []string{"agent.inbox"}
	}
	for _, name := range names {
		o := r.Table.Op(name)
		if o != nil && !slices.ContainsFunc(o.Fields(), func(f op.Field) bool {
			return f.Required && f.Resource != "workspace"
		}) {
			ops = append(ops, o)
		}
	}
	return ops
}

// ofWorkspace returns the field that names the one workspace of a list, or "".
func ofWorkspace(list *op.Op) string {
	for _, f := range list.Fields() {
		if f.Required {
			return f.Name
		}
	}
	return ""
}

// Unfiltered is the filter with which a list contains every record, but closed messages.
func Unfiltered(list *op.Op) map[string]any {
	for _, f := range list.Fields() {
		if f.Name == "include" {
			return map[string]any{f.Name: f.Enum}
		}
	}
	return nil
}

// filters returns the filters of calls to a list that together contain every record.
func filters(list *op.Op) []map[string]any {
	all := Unfiltered(list)
	switch {
	case list.Name == "agent.inbox":
		return []map[string]any{nil, {"status": loci.ReceiptClosed}}
	case slices.ContainsFunc(list.Fields(), func(f op.Field) bool { return f.Name == "scope" }):
		managed := map[string]any{"scope": loci.ScopeManaged}
		maps.Copy(managed, all)
		return []map[string]any{all, managed}
	}
	return []map[string]any{all}
}

// All reads the records of a resource: of one workspace or, without an id, of all. Those that the caller may not list,
// as a member of a workspace, are skipped. A record may occur twice.
func (r Reader) All(ctx context.Context, resource string, workspaceID loci.ID) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, list := range r.ListsOf(resource) {
			field := ofWorkspace(list)
			if field == "" {
				for _, filter := range filters(list) {
					if !r.yieldAll(ctx, list, filter, yield) {
						return
					}
				}
				continue
			}
			for id, err := range r.workspaces(ctx, workspaceID) {
				if err != nil {
					yield(Record{}, err)
					return
				}
				if !r.yieldAll(ctx, list, map[string]any{field: id}, yield) {
					return
				}
			}
		}
	}
}

// workspaces yields the id, or those of all workspaces of the caller.
func (r Reader) workspaces(ctx context.Context, id loci.ID) iter.Seq2[loci.ID, error] {
	return func(yield func(loci.ID, error) bool) {
		list := r.Table.Op("workspace.list")
		if id != "" || list == nil {
			yield(id, nil)
			return
		}
		for w, err := range r.List(ctx, list, Unfiltered(list)) {
			if !yield(w.ID, err) {
				return
			}
		}
	}
}

// yieldAll yields the records of one list, and reports whether the caller wants more.
func (r Reader) yieldAll(ctx context.Context, list *op.Op, filter map[string]any, yield func(Record, error) bool) bool {
	for one, err := range r.List(ctx, list, filter) {
		if loci.Is(err, loci.CodeForbidden) && (ofWorkspace(list) != "" || filter["scope"] != nil) {
			return true
		}
		if !yield(one, err) || err != nil {
			return false
		}
	}
	return true
}
