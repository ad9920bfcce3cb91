package cli

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// A record has the common fields of listed records.
type record struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	WorkspaceID string `json:"workspaceId"`
	AtlasID     string `json:"atlasId"`
}

// recordSeq is a sequence of records, read page by page.
type recordSeq = iter.Seq2[record, error]

// listRecords reads the pages of a list to its end, or until the loop ends.
// Each page is a separate call without the headers of another call.
func listRecords(ctx context.Context, caller op.Caller, o *op.Op, filter map[string]any) recordSeq {
	return func(yield func(record, error) bool) {
		in := maps.Clone(filter)
		if in == nil {
			in = map[string]any{}
		}
		in["limit"] = 100
		for {
			page, err := readPage(ctx, caller, o, in)
			if err != nil {
				yield(record{}, err)
				return
			}
			for _, r := range page.records {
				if !yield(r, nil) {
					return
				}
			}
			if page.next == "" {
				return
			}
			in["cursor"] = page.next
		}
	}
}

// A recordPage is one page of a list.
type recordPage struct {
	records []record
	next    string
}

func readPage(ctx context.Context, caller op.Caller, o *op.Op, in map[string]any) (page recordPage, err error) {
	args, err := json.Marshal(in)
	if err != nil {
		return page, err
	}
	raw, err := caller.Call(ctx, o, &op.Call{Transport: "command", RequestID: loci.NewID(time.Now())},
		op.Args{JSON: args})
	if err != nil {
		return page, err
	}
	return parsePage(raw)
}

// parsePage returns the records of an answer with a list.
func parsePage(raw []byte) (page recordPage, err error) {
	answer, err := parseMembers(raw)
	if err != nil {
		return page, err
	}
	page.next = textOf(answer, "nextCursor")
	for _, m := range answer {
		if isArray(m.value) {
			err = json.Unmarshal(m.value, &page.records)
			break
		}
	}
	return page, err
}
