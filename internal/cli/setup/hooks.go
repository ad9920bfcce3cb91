package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/setup"
)

// Automatic is the automatic memory of a workspace.
type Automatic struct {
	Workspace string // for people
	Policy    loci.Policy
	Waiting   int64 // candidates of the person, in all workspaces
	Set       func(context.Context, loci.SetPolicy) error
	Close     func() error

	unread error // the policy could not be read: all else is empty
}

// readAutomatic reads the automatic memory before hooks are wired, or returns nil where the change does not need it. A
// failure ends the command only if --yes demands the switch, or the workspace of --workspace-id does not exist.
func (o Options) readAutomatic(ctx context.Context, f flags) (*Automatic, error) {
	if !f.hooks || f.remove || f.dryRun {
		return nil, nil
	}
	a, err := o.Automatic(ctx, loci.ID(f.workspace))
	if err != nil && !f.yes && !(f.scoped && loci.Is(err, loci.CodeNotFound)) {
		return &Automatic{unread: err}, nil
	}
	return a, err
}

// close closes the target. A policy that was set is stored already.
func (a *Automatic) close() {
	if a != nil && a.Close != nil {
		_ = a.Close()
	}
}

// A switchResult says whether automatic memory is on after hooks were wired.
type switchResult struct {
	Workspace string `json:"workspace"`
	Enabled   bool   `json:"enabled"`
	Paused    bool   `json:"paused,omitzero"`
	Problem   string `json:"problem,omitzero"` // it could not be read
	Command   string `json:"command,omitzero"` // switches it on
	Waiting   int64  `json:"waiting,omitzero"` // candidates of the person

	review string // the line that names the command for a review
}

// switchOn asks whether automatic memory shall be on, unless it is or --yes says so.
func (o Options) switchOn(ctx context.Context, c *setup.Client, a *Automatic, f flags) (*switchResult, error) {
	switch {
	case a == nil:
		return nil, nil
	case a.unread != nil:
		return &switchResult{Problem: loci.AsError(a.unread).Message, Command: o.switchCommand(c, a, f)}, nil
	}
	r := &switchResult{Workspace: a.Workspace, Enabled: true, Paused: a.Policy.Paused, Waiting: a.Waiting}
	if a.Waiting > 0 {
		r.review = "\n" + console.WaitingCandidates(a.Waiting, CommandFlags(o.Target))
	}
	if a.Policy.Enabled && a.Policy.Adapters.On(c.Adapter()) {
		return r, nil
	}
	ask := o.Console.IsInteractive() && !o.Console.JSON
	if f.yes || ask && o.Console.Ask(ctx, "Switch automatic memory on for "+a.Workspace+"?") == nil {
		return r, a.Set(ctx, switchedOn(a.Policy, c.Adapter()))
	}
	r.Enabled, r.Command = false, o.switchCommand(c, a, f)
	return r, ctx.Err()
}

// switchedOn returns the policy with automatic memory and an adapter on. All else stays.
func switchedOn(p loci.Policy, adapter loci.Adapter) loci.SetPolicy {
	in := PolicyInput(p)
	in.Enabled = true
	in.Adapters = loci.NewAdapterSwitches(slices.DeleteFunc(p.Adapters.Off(),
		func(x loci.Adapter) bool { return x == adapter }))
	return in
}

// PolicyInput returns the input that sets a policy as it is.
func PolicyInput(p loci.Policy) loci.SetPolicy {
	paths := make(loci.PathPatterns, len(p.ExcludePaths))
	for i, path := range p.ExcludePaths {
		paths[i] = loci.PathPattern(path)
	}
	return loci.SetPolicy{Enabled: p.Enabled, Paused: p.Paused, Mode: p.Mode, AtlasID: p.AtlasID,
		Adapters: p.Adapters, MinLength: loci.MinimumLength(p.MinLength), KeepTurns: p.KeepTurns, ExcludePaths: paths}
}

// switchCommand returns the command that switches automatic memory on, with the adapter of the client. It keeps the
// other settings of the policy.
func (o Options) switchCommand(c *setup.Client, a *Automatic, f flags) string {
	words := []string{"loci", "auto", "set", "--enabled"}
	if !a.Policy.Adapters.On(c.Adapter()) {
		words = append(words, "--adapters-"+string(c.Adapter()))
	}
	if f.workspace != "" {
		words = append(words, "--workspace-id", f.workspace)
	}
	return strings.Join(append(words, CommandFlags(o.Target)...), " ")
}

// text describes the result to a person.
func (r *switchResult) text() string {
	const off = "Until then nothing is kept. It is switched on by: "
	switch {
	case r.Problem != "":
		return "Whether automatic memory is on could not be read: " + r.Problem + "\n" + off + r.Command
	case !r.Enabled:
		return "Automatic memory is off for " + r.Workspace + ". " + off + r.Command + r.review
	case r.Paused:
		return "Automatic memory is on for " + r.Workspace + ", and paused." + r.review
	}
	return "Automatic memory is on for " + r.Workspace + "." + r.review
}

// describeHooks reports the change to the hooks of a client.
func (o Options) describeHooks(c *setup.Client, r result) string {
	text := map[setup.Action]string{
		setup.Added:     "%s reports prompts and answers to Loci, by %s in %s.",
		setup.Updated:   "%s reports prompts and answers to Loci, by %s in %s, anew.",
		setup.Unchanged: "%s reported prompts and answers to Loci already, by %s in %s. Nothing was changed.",
		setup.Removed:   "%s no longer reports prompts and answers to Loci: removed were %s in %s.",
		setup.Absent:    "%s reported nothing to Loci: %s in %s were not there. Nothing was changed.",
	}[r.Action]
	what := "the hooks"
	if r.Name != "" {
		what = fmt.Sprintf("the agent %q", r.Name)
	}
	text = fmt.Sprintf(text, c.Title, what, o.file(r))
	if r.Connection != nil {
		text += "\nThat starts " + r.Connection.String() + "."
	}
	return text
}
