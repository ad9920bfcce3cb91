package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/profile"
	"github.com/loci-memory/loci/internal/cli/setup"
	"github.com/loci-memory/loci/internal/op"
)

// setup connects the clients of other makers.
func (p *program) setup() *cobra.Command {
	return setup.Command(setup.Options{Console: &p.Console, DataDir: p.privateDir, Target: p.setupTarget,
		Automatic: p.automatic})
}

// setupTarget returns the target as a client will find it. Flags count alone, so that no key is looked up for them.
func (p *program) setupTarget() (t setup.Target, err error) {
	t.PlainHTTP, t.Local = p.plainHTTP, p.local
	switch {
	case p.local && p.server != "":
		return t, command.UsageError("--local and --server exclude each other")
	case p.server != "":
		t.Server, t.Named = p.server, true
		return t, nil
	case p.local:
		return t, nil
	}
	if t.Server = p.Env("LOCI_URL"); t.Server != "" {
		return t, nil
	}
	login, err := p.profile().Load()
	if login != nil {
		t.Server, t.PlainHTTP = login.URL, t.PlainHTTP || login.PlainHTTP
		t.ByBrowser = login.ByBrowser()
	}
	return t, err
}

// targetFlags returns the flags with which another command has the target of this one.
func (p *program) targetFlags() []string { return setup.CommandFlags(p.setupTarget) }

// privateDir makes the folder of Loci in the home of the person.
func (p *program) privateDir() (string, error) {
	local := p.localDir()
	if local == "" {
		return "", profile.ErrNoHome
	}
	dir := filepath.Dir(local)
	return dir, ensurePrivateDir(dir)
}

// automatic reads the automatic memory of a workspace on the target, "" for the personal one, to which loci hook
// delivers. It returns nil where the variant of the contract has none.
func (p *program) automatic(ctx context.Context, workspace loci.ID) (a *setup.Automatic, err error) {
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
	if err := callTyped(ctx, caller, get, read, loci.GetPolicy{WorkspaceID: workspace}, &out); err != nil {
		return nil, errors.Join(err, end())
	}
	a = &setup.Automatic{Workspace: p.describeWorkspace(ctx, caller, workspace), Policy: out.Policy, Close: end}
	a.Waiting, _ = p.waitingCandidates(ctx, caller) // the policy is known without it
	a.Set = func(ctx context.Context, in loci.SetPolicy) error {
		in.WorkspaceID = workspace
		write := &op.Call{Transport: "command"}
		if set.Has(op.IfMatch) {
			write.IfMatch = read.ETag // the policy that was shown
		}
		return callTyped(ctx, caller, set, write, in, &loci.OnePolicy{})
	}
	return a, nil
}

// describeWorkspace names a workspace by its name, or by its id where the name cannot be read.
func (p *program) describeWorkspace(ctx context.Context, caller op.Caller, id loci.ID) string {
	if id == "" {
		return "your personal workspace"
	}
	var out loci.OneWorkspace
	get, call := p.table.Op("workspace.get"), &op.Call{Transport: "command"}
	if get == nil || callTyped(ctx, caller, get, call, loci.GetWorkspace{WorkspaceID: id}, &out) != nil {
		return "the workspace " + string(id)
	}
	return fmt.Sprintf("the workspace %q", format.StripControl(out.Workspace.Name, false))
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
