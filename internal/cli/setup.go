package cli

import (
	"cmp"
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
	"github.com/loci-memory/loci/internal/service"
)

// setup connects the clients of other makers.
func (p *program) setup() *cobra.Command {
	return setup.Command(setup.Options{Console: &p.Console, DataDir: p.privateDir, Target: p.setupTarget,
		Workspace: p.workspaceID, Automatic: p.automatic})
}

// workspaceID returns the id of the workspace that a text names on the target.
func (p *program) workspaceID(ctx context.Context, text string) (loci.ID, error) {
	r, end, err := p.openRecords(ctx)
	if err != nil {
		return "", err
	}
	id, err := r.Lists().ID(ctx, "workspace", loci.ID(text))
	return id, cmp.Or(err, end())
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
	set := p.table.Op(service.AutoSet.Name)
	if set == nil {
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
	out, err := op.Do(ctx, caller, read, service.AutoGet, loci.GetPolicy{WorkspaceID: workspace})
	if err != nil {
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
		_, err := op.Do(ctx, caller, write, service.AutoSet, in)
		return err
	}
	return a, nil
}

// describeWorkspace names a workspace by its name, or by its id where the name cannot be read.
func (p *program) describeWorkspace(ctx context.Context, caller op.Caller, id loci.ID) string {
	if id == "" {
		return "your personal workspace"
	}
	in := loci.GetWorkspace{WorkspaceID: id}
	out, err := op.Do(ctx, caller, &op.Call{Transport: "command"}, service.WorkspaceGet, in)
	if err != nil {
		return "the workspace " + string(id)
	}
	return fmt.Sprintf("the workspace %q", format.StripControl(out.Workspace.Name, false))
}

// mergePolicy adds the present policy to the input of auto.set, which replaces it. So a command changes the given flags
// alone.
func mergePolicy(ctx context.Context, caller op.Caller, c *op.Call, input []byte) ([]byte, error) {
	var which loci.GetPolicy
	if err := json.Unmarshal(input, &which); err != nil {
		return nil, err
	}
	read := &op.Call{Transport: c.Transport, RequestID: c.RequestID, ActorHeader: c.ActorHeader}
	present, err := op.Do(ctx, caller, read, service.AutoGet, which)
	if err != nil {
		return nil, err
	}
	merged := setup.PolicyInput(present.Policy)
	if err := json.Unmarshal(input, &merged); err != nil {
		return nil, err
	}
	return op.Marshal(merged)
}
