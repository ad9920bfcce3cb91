package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/cli/version"
	"github.com/loci-memory/loci/internal/mcp"
	"github.com/loci-memory/loci/internal/op"
)

func (p *program) mcp() *cobra.Command {
	var name, workspace, atlas string
	var agent bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent over stdin and stdout (Model Context Protocol)",
		Long: "Serves one agent on this device: its memories are those of the login, or of this device.\n" +
			"With --workspace or --atlas the agent works there only: new memories are stored there, lists and\n" +
			"searches read there, and calls that name another place are refused. Tools for people, accounts,\n" +
			"sessions and other places are not offered then.\n" +
			"Only the set full has the tools of sessions (session_start and the like), and those of messages\n" +
			"between agents (agent_send and the like). Every tool acts as the agent of your API key, if there is\n" +
			"one; with --agent there must be one, and the default is the set full.\n" +
			"Nothing but messages of the protocol is written to stdout.",
		Example: "loci mcp\nloci mcp --atlas Website\nloci mcp --local --toolset full\nloci mcp --agent",
		Args:    command.ExactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.serveMCP(cmd, name, workspace, atlas, agent) },
	}
	cmd.Flags().BoolVar(&agent, "agent", false, "Require the agent of an API key, and offer the set full")
	cmd.Flags().StringVar(&name, "toolset", "",
		"The set of tools: "+strings.Join(op.ToolsetNames(), ", ")+
			" (LOCI_MCP_TOOLSET; default: core, with --agent full)")
	cmd.Flags().StringVar(&workspace, "workspace", "",
		"Keep to the workspace of this name or id, or part of an id")
	cmd.Flags().StringVar(&atlas, "atlas", "", "Keep to the atlas of this name or id, or part of an id")
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("toolset",
		cobra.FixedCompletions(op.ToolsetNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (p *program) serveMCP(cmd *cobra.Command, name, workspace, atlas string, agent bool) error {
	set, err := p.toolset(name, agent)
	if err != nil {
		return err
	}
	if p.IsInteractive() {
		fmt.Fprintln(p.Err, "This speaks MCP on stdin and stdout, for an agent that starts it. Ctrl-D ends it.")
	}
	t, err := p.resolveTarget()
	if err != nil {
		return err
	}
	if agent {
		p.currentTarget, p.worksHere = t, false
		if err := t.checkAgent(); err != nil {
			return err
		}
	}
	caller, end, err := p.openCaller(cmd.Context(), t, false)
	if err != nil {
		return err
	}
	caller = bridge{caller, t.checkAgent()}
	table := p.table
	if t.url == "" {
		table = withoutServerOnly(table)
	}
	narrowed, err := records.Reader{Caller: caller, Table: table}.Scope(cmd.Context(), workspace, atlas)
	if err == nil {
		o := mcp.Options{Table: table, Caller: caller, Version: version.Get().Version, Toolset: set}
		if t.checkAgent() == nil { // as over HTTP
			o.ActorHeader = op.ActorAgent
		}
		if narrowed != nil {
			o.Table, o.Caller, o.ScopeName = narrowed.AllowedOperations(), narrowed, narrowed.Name
			o.AtlasID = narrowed.AtlasID
		}
		err = mcp.New(o).Stdio(cmd.Context(), p.In, p.Out)
	}
	if e := end(); err == nil {
		err = e
	}
	return err
}

// withoutServerOnly returns the operations of a database on this device, which has no agents, and at whose addresses of
// files nobody listens.
func withoutServerOnly(table *op.Table) *op.Table {
	var excluded []string
	for _, o := range table.Ops {
		if o.Has(op.ServerOnly) || o.Access == op.File {
			excluded = append(excluded, o.Name)
		}
	}
	within, _ := table.Without(excluded)
	return within
}

// A bridge runs the operations of tools. noAgent says why the target has no agent, or it is nil.
type bridge struct {
	op.Caller
	noAgent error
}

// Call runs an operation. It refuses those that are for agents alone where the target has none.
func (b bridge) Call(ctx context.Context, o *op.Op, c *op.Call, a op.Args) ([]byte, error) {
	if o.Access == op.Agent && b.noAgent != nil {
		return nil, b.noAgent
	}
	return b.Caller.Call(ctx, o, c, a)
}

// toolset returns the tool set of that name, or of the settings, or the default.
func (p *program) toolset(name string, agent bool) (op.Toolset, error) {
	for _, text := range []string{name, p.Env("LOCI_MCP_TOOLSET"), p.Env("SERVICE_MCP_TOOLSET")} {
		if text == "" {
			continue
		}
		set, err := op.ParseToolset(text)
		if err != nil {
			return "", command.UsageError("--toolset (or LOCI_MCP_TOOLSET) " + err.Error())
		}
		return set, nil
	}
	if agent {
		return op.FullTools, nil // with the tools of messages
	}
	return op.CoreTools, nil
}
