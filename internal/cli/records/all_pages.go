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
	read := func(p loci.Paging) (items []json.RawMessage, next loci.Page, err error) {
		if p.Cursor != "" {
			in["cursor"] = p.Cursor
			report(len(all))
		}
		args, err := json.Marshal(in)
		if err != nil {
			return nil, next, err
		}
		part := *c
		raw, err := r.Caller.Call(ctx, o, &part, op.Args{JSON: args})
		if err != nil {
			return nil, next, err
		}
		page, err := strictjson.Object(raw)
		if first == nil {
			first = page
		}
		if i := slices.IndexFunc(page, strictjson.Member.IsArray); i >= 0 {
			err = json.Unmarshal(page[i].Value, &items)
		}
		return items, loci.Page{NextCursor: resolve.NextCursor(page)}, err
	}
	for item, err := range loci.AllItems(loci.Paging{}, read) {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return replaceItems(first, bytes.Join(all, []byte(","))), nil
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
