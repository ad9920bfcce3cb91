package records

import (
	"cmp"
	"context"
	"encoding/json"
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

// Do runs an operation of the reader's table as a separate call, and accepts parts of its ids. A repeated write has one
// effect.
func Do[Out any](ctx context.Context, r Reader, name string, in any) (out Out, err error) {
	o := r.Table.Op(name)
	if o == nil {
		return out, loci.NewError(loci.CodeNotFound)
	}
	input, err := json.Marshal(in)
	if err == nil {
		input, err = r.Lists().Expand(ctx, o, input)
	}
	if err != nil {
		return out, err
	}
	c := r.newCall(o)
	if o.AcceptsIdempotencyKey() && !o.ReadOnly {
		c.IdempotencyKey = string(loci.NewID(time.Now()))
	}
	raw, err := r.Caller.Call(ctx, o, c, op.Args{JSON: input})
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(raw, &out)
}

// Named is a Caller that takes names and parts of ids for ids.
type Named struct{ Reader }

// Call replaces the names in the input, and runs the operation.
func (n Named) Call(ctx context.Context, o *op.Op, c *op.Call, a op.Args) ([]byte, error) {
	input, err := n.Lists().Expand(ctx, o, a.JSON)
	if err != nil {
		return nil, err
	}
	return n.Caller.Call(ctx, o, c, op.Args{JSON: input})
}

// call runs an operation as a separate call.
func (r Reader) call(ctx context.Context, o *op.Op, input []byte) ([]byte, error) {
	return r.Caller.Call(ctx, o, r.newCall(o), op.Args{JSON: input})
}

// newCall returns a separate call of an operation.
func (r Reader) newCall(o *op.Op) *op.Call {
	c := &op.Call{Transport: "command", RequestID: cmp.Or(r.RequestID, string(loci.NewID(time.Now())))}
	if o.Access == op.Agent {
		c.ActorHeader = op.ActorAgent
	}
	return c
}
