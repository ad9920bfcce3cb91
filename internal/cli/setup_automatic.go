package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/setup"
	"github.com/loci-memory/loci/internal/op"
)

// automatic reads the automatic memory of the personal workspace on the target, to which loci hook delivers. It returns
// nil where the variant of the contract has none.
func (p *program) automatic(ctx context.Context) (a *setup.Automatic, err error) {
	get, set := p.table.Op("auto.get"), p.table.Op("auto.set")
	if get == nil || set == nil {
		return nil, nil
	}
	t, err := p.resolveTarget()
	if err != nil {
		return nil, err
	}
	caller, end, err := p.openCaller(ctx, t, false)
	if err != nil {
		return nil, err
	}
	read := &op.Call{Transport: "command"}
	var out loci.OnePolicy
	if err := callTyped(ctx, caller, get, read, loci.GetPolicy{}, &out); err != nil {
		return nil, errors.Join(err, end())
	}
	a = &setup.Automatic{Workspace: "your personal workspace", Policy: out.Policy, Close: end}
	a.Set = func(ctx context.Context, in loci.SetPolicy) error {
		write := &op.Call{Transport: "command"}
		if set.Has(op.IfMatch) {
			write.IfMatch = read.ETag // the policy that was shown
		}
		return callTyped(ctx, caller, set, write, in, &loci.OnePolicy{})
	}
	return a, nil
}

// callTyped calls an operation with typed input and output.
func callTyped(ctx context.Context, caller op.Caller, o *op.Op, c *op.Call, in, out any) error {
	args, err := json.Marshal(in)
	if err != nil {
		return err
	}
	raw, err := caller.Call(ctx, o, c, op.Args{JSON: args})
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}
