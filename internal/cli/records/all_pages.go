package records

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/op"
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
	var items []byte // of all pages, each after a comma
	count := 0
	for {
		args, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		next := *c // each page is a call
		raw, err := r.Caller.Call(ctx, o, &next, op.Args{JSON: args})
		if err != nil {
			return nil, err
		}
		page, err := strictjson.Object(raw)
		if err != nil {
			return nil, err
		}
		cursor := nextCursor(page)
		for _, m := range page {
			var part []json.RawMessage
			if m.IsArray() {
				err = json.Unmarshal(m.Value, &part)
			}
			if err != nil {
				return nil, err
			}
			if count += len(part); len(part) > 0 {
				items = append(append(items, ','), m.Value[1:len(m.Value)-1]...)
			}
		}
		if first == nil {
			first = page
		}
		if cursor == "" {
			break
		}
		in["cursor"] = cursor
		report(count)
	}
	return replaceItems(first, bytes.TrimPrefix(items, []byte(","))), nil
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
