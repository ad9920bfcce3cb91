package records

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
)

// A Reader reads records by operations of a table.
type Reader struct {
	Caller    op.Caller
	Table     *op.Table
	RequestID string // of the calls; empty means a new one for each
}

// Lists returns the reader of lists. Each page is a separate call without the headers of another call.
func (r Reader) Lists() resolve.Reader {
	return resolve.Reader{Table: r.Table,
		Call: func(ctx context.Context, o *op.Op, input []byte, _ int) ([]byte, error) {
			return r.call(ctx, o, input)
		},
		ListName: func(list *op.Op) string {
			return "loci " + format.Kebab(strings.Replace(list.Name, ".", " ", 1))
		}}
}

// call runs an operation as a separate call.
func (r Reader) call(ctx context.Context, o *op.Op, input []byte) ([]byte, error) {
	c := &op.Call{Transport: "command", RequestID: cmp.Or(r.RequestID, string(loci.NewID(time.Now())))}
	if o.Access == op.Agent {
		c.ActorHeader = op.ActorAgent
	}
	return r.Caller.Call(ctx, o, c, op.Args{JSON: input})
}
