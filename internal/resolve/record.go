package resolve

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// A Reader reads records by the lists of a table of operations.
type Reader struct {
	Table *op.Table
	// Call runs an operation. The pages of a list are numbered from 0 on.
	Call func(ctx context.Context, o *op.Op, input []byte, page int) ([]byte, error)
	// ListName names a list for the caller. With it, a text that cannot be an id is an error; without it, the
	// operation refuses such a text.
	ListName func(list *op.Op) string
}

// A Record has the common fields of listed records.
type Record struct {
	ID          loci.ID `json:"id"`
	UserID      loci.ID `json:"userId"` // of a member, which has no other id
	Name        string  `json:"name"`
	Title       string  `json:"title"`
	Task        string  `json:"task"`    // of a session
	Subject     string  `json:"subject"` // of a message
	Email       string  `json:"email"`
	Workspace   string  `json:"workspaceName"` // of an invitation; of an atlas where it was looked up
	WorkspaceID loci.ID `json:"workspaceId"`
	AtlasID     loci.ID `json:"atlasId"`
	SessionID   loci.ID `json:"sessionId"` // of a candidate
	Kind        string  `json:"kind"`
	Role        string  `json:"role"` // the caller's in a workspace
	Status      string  `json:"status"`
	Client      struct {
		Name string `json:"name"`
	} `json:"client"` // of a grant
}

// Label returns the text by which people know a record, or "".
func (r Record) Label() string {
	return cmp.Or(r.Title, r.Name, r.Task, r.Subject, r.Email, r.Client.Name)
}

// List reads the pages of a list to its end, or until the loop ends.
func (r Reader) List(ctx context.Context, o *op.Op, filter map[string]any) iter.Seq2[Record, error] {
	page := -1
	return loci.AllItems(loci.Paging{Limit: 100}, func(p loci.Paging) (list []Record, next loci.Page, err error) {
		page++
		in := map[string]any{"limit": p.Limit}
		maps.Copy(in, filter)
		if p.Cursor != "" {
			in["cursor"] = p.Cursor
		}
		args, err := json.Marshal(in)
		if err != nil {
			return nil, next, err
		}
		raw, err := r.Call(ctx, o, args, page)
		if err != nil {
			return nil, next, err
		}
		return ParsePage(raw)
	})
}

// ParsePage returns the records of an answer with a list.
func ParsePage(raw []byte) (list []Record, page loci.Page, err error) {
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
	return list, loci.Page{NextCursor: NextCursor(answer)}, err
}

// NextCursor returns the cursor of the next page, or "".
func NextCursor(answer []strictjson.Member) (cursor string) {
	for _, m := range answer {
		if m.Name == "nextCursor" {
			_ = json.Unmarshal(m.Value, &cursor) // null is no cursor
		}
	}
	return cursor
}
