package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/op"
)

// callAllPages reads all pages and returns them as one answer.
func (p *program) callAllPages(ctx context.Context, caller op.Caller, o *op.Op, c *op.Call, input []byte) ([]byte,
	error) {
	var in map[string]any
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	if in["limit"] == nil {
		in["limit"] = 100
	}
	var first []jsonMember
	var items []byte // of all pages, each after a comma
	count := 0
	width, _ := p.terminalInfo(p.err)
	for {
		args, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		next := *c // each page is a call
		raw, err := caller.Call(ctx, o, &next, op.Args{JSON: args})
		if err != nil {
			return nil, err
		}
		page, err := parseMembers(raw)
		if err != nil {
			return nil, err
		}
		cursor := textOf(page, "nextCursor")
		for _, m := range page {
			var part []json.RawMessage
			if isArray(m.value) {
				err = json.Unmarshal(m.value, &part)
			}
			if err != nil {
				return nil, err
			}
			if count += len(part); len(part) > 0 {
				items = append(append(items, ','), m.value[1:len(m.value)-1]...)
			}
		}
		if first == nil {
			first = page
		}
		if cursor == "" {
			break
		}
		in["cursor"] = cursor
		if width > 0 {
			fmt.Fprintf(p.err, "\r\x1b[K%d read", count)
		}
	}
	if width > 0 {
		fmt.Fprint(p.err, "\r\x1b[K")
	}
	return replaceItems(first, bytes.TrimPrefix(items, []byte(","))), nil
}

// replaceItems returns an answer with other items in its list, and no next page.
func replaceItems(answer []jsonMember, items []byte) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range answer {
		if m.name == "nextCursor" {
			continue
		}
		if isArray(m.value) {
			m.value = slices.Concat([]byte("["), items, []byte("]"))
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", m.name, m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}
