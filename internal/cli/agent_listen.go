package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/listen"
	"github.com/loci-memory/loci/internal/cli/records"
)

// agentListen follows the messages to the agent of the target's key.
func (p *program) agentListen() *cobra.Command {
	return listen.Command(listen.Options{Console: &p.Console, Open: p.openStream})
}

// openStream returns a client for the messages of an agent, and the id of a workspace that may be given by a prefix.
func (p *program) openStream(ctx context.Context, workspace string) (*client.Client, loci.ID, error) {
	p.worksHere = false
	t, err := p.agentTarget()
	if err != nil {
		return nil, "", err
	}
	c, err := t.newClient()
	if err != nil || workspace == "" {
		return c, "", err
	}
	in := loci.ListenAgent{WorkspaceID: loci.ID(workspace)}
	given, err := json.Marshal(in)
	if err != nil {
		return nil, "", err
	}
	r := records.Reader{Caller: remote{c}, Table: p.table}
	if given, err = r.Lists().Expand(ctx, p.table.Op("agent.inbox"), given); err != nil {
		return nil, "", err
	}
	err = json.Unmarshal(given, &in)
	return c, in.WorkspaceID, err
}
