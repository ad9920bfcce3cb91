package records

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
	"github.com/loci-memory/loci/internal/strictjson"
)

// AllPages reads all pages and returns them as one answer. It calls report with the number of the records read so far.
func (r Reader) AllPages(ctx context.Context, o *op.Op, c *op.Call, input []byte, report func(int)) ([]byte, error) {
	var in map[string]any
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	if in["limit"] == nil {
		in["limit"] = 100
	}
	var first []strictjson.Member
	var all [][]byte
	for item, err := range loci.AllItems(loci.Paging{}, func(p loci.Paging) ([]json.RawMessage, loci.Page, error) {
		if p.Cursor != "" {
			in["cursor"] = p.Cursor
			report(len(all))
		}
		page, items, err := r.callPage(ctx, o, c, in)
		if first == nil {
			first = page
		}
		return items, loci.Page{NextCursor: resolve.NextCursor(page)}, err
	}) {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return replaceItems(first, bytes.Join(all, []byte(","))), nil
}

// callPage reads one page by a call of its own, with the headers of c.
func (r Reader) callPage(ctx context.Context, o *op.Op, c *op.Call, in map[string]any) (page []strictjson.Member,
	items []json.RawMessage, err error) {
	args, err := json.Marshal(in)
	if err != nil {
		return nil, nil, err
	}
	next := *c
	raw, err := r.Caller.Call(ctx, o, &next, op.Args{JSON: args})
	if err != nil {
		return nil, nil, err
	}
	if page, err = strictjson.Object(raw); err != nil {
		return nil, nil, err
	}
	if i := slices.IndexFunc(page, strictjson.Member.IsArray); i >= 0 {
		err = json.Unmarshal(page[i].Value, &items)
	}
	return page, items, err
}

// replaceItems returns an answer with other items in its list, and no next page.
func replaceItems(answer []strictjson.Member, items []byte) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range answer {
		if m.Name == "nextCursor" {
			continue
		}
		if m.IsArray() {
			m.Value = slices.Concat([]byte("["), items, []byte("]"))
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", m.Name, m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}
