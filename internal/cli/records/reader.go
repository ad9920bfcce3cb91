package records

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// A Reader reads records by operations of a table.
type Reader struct {
	Caller    op.Caller
	Table     *op.Table
	RequestID string // of the calls; empty means a new one for each
}

// A record has the common fields of listed records.
type record struct {
	ID          loci.ID `json:"id"`
	UserID      loci.ID `json:"userId"` // of a member, which has no other id
	Name        string  `json:"name"`
	Title       string  `json:"title"`
	Task        string  `json:"task"`    // of a session
	Subject     string  `json:"subject"` // of a message
	Email       string  `json:"email"`
	Workspace   string  `json:"workspaceName"` // of an invitation
	WorkspaceID loci.ID `json:"workspaceId"`
	AtlasID     loci.ID `json:"atlasId"`
	Client      struct {
		Name string `json:"name"`
	} `json:"client"` // of a grant
}

// name returns the name of a record for people, or "".
func (r record) name() string {
	return cmp.Or(r.Title, r.Name, r.Task, r.Subject, r.Email, r.Client.Name)
}

func (r record) isSame(other record) bool { return r.ID == other.ID }

// list reads the pages of a list to its end, or until the loop ends. Each page is a separate call without the headers
// of another call.
func (r Reader) list(ctx context.Context, o *op.Op, filter map[string]any) iter.Seq2[record, error] {
	return loci.AllItems(loci.Paging{Limit: 100}, func(p loci.Paging) (list []record, page loci.Page, err error) {
		in := map[string]any{"limit": p.Limit}
		maps.Copy(in, filter)
		if p.Cursor != "" {
			in["cursor"] = p.Cursor
		}
		args, err := json.Marshal(in)
		if err != nil {
			return nil, page, err
		}
		raw, err := r.call(ctx, o, args)
		if err != nil {
			return nil, page, err
		}
		return parsePage(raw)
	})
}

// call runs an operation as a separate call.
func (r Reader) call(ctx context.Context, o *op.Op, input []byte) ([]byte, error) {
	c := &op.Call{Transport: "command", RequestID: cmp.Or(r.RequestID, string(loci.NewID(time.Now())))}
	if o.Access == op.Agent {
		c.ActorHeader = op.ActorAgent
	}
	return r.Caller.Call(ctx, o, c, op.Args{JSON: input})
}

// parsePage returns the records of an answer with a list.
func parsePage(raw []byte) (list []record, page loci.Page, err error) {
	answer, err := strictjson.Object(raw)
	if err != nil {
		return nil, page, err
	}
	if i := slices.IndexFunc(answer, strictjson.Member.IsArray); i >= 0 {
		err = json.Unmarshal(answer[i].Value, &list)
	}
	for i := range list {
		list[i].ID = cmp.Or(list[i].ID, list[i].UserID)
	}
	return list, loci.Page{NextCursor: nextCursor(answer)}, err
}

// nextCursor returns the cursor of the next page, or "".
func nextCursor(answer []strictjson.Member) (cursor string) {
	for _, m := range answer {
		if m.Name == "nextCursor" {
			_ = json.Unmarshal(m.Value, &cursor) // null is no cursor
		}
	}
	return cursor
}
