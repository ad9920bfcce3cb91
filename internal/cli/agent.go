package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/listen"
	"github.com/loci-memory/loci/internal/cli/output"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
)

// oneInboxMessage is the object of loci agent show.
type oneInboxMessage struct {
	Message loci.InboxMessage `json:"message"`
}

// agentShow shows a message of the inbox in full.
func (p *program) agentShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show <message-id>",
		Short:   "Show a message that you have received in full",
		Long:    "Shows a message that you have received in full. It does not acknowledge the message.",
		Example: "loci agent show 3f9c2a7b",
		Args:    command.ExactArgs("<message-id>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.worksHere = false
			t, err := p.agentTarget()
			if err != nil {
				return err
			}
			c, err := t.newClient()
			if err != nil {
				return err
			}
			m, err := p.findMessage(cmd.Context(), remote{c}, loci.ID(args[0]))
			if err != nil {
				return err
			}
			return (&output.Printer{Console: &p.Console}).PrintAnswer(oneInboxMessage{m})
		},
	}
}

// agentTarget returns the target of a command for agents alone.
func (p *program) agentTarget() (target, error) {
	t, err := p.resolveTarget()
	if err != nil {
		return t, err
	}
	p.useTarget(t)
	return t, t.checkAgent()
}

// findMessage returns the message of an id, or of a part of it: one that is open, or else a closed one.
func (p *program) findMessage(ctx context.Context, caller op.Caller, id loci.ID) (m loci.InboxMessage, err error) {
	p.requestID = string(loci.NewID(time.Now()))
	r := records.Reader{Caller: caller, Table: p.table, RequestID: p.requestID}
	if id, err = r.Lists().ID(ctx, "message", id); err != nil {
		return m, err
	}
	for _, status := range []loci.ReceiptStatus{"", loci.ReceiptClosed} {
		in := loci.ListInbox{Status: status, Paging: loci.Paging{Limit: 100}}
		for m, err := range loci.AllItems(in.Paging, func(at loci.Paging) ([]loci.InboxMessage, loci.Page, error) {
			in.Paging = at
			c := &op.Call{Transport: "command", RequestID: p.requestID, ActorHeader: op.ActorAgent}
			page, err := op.Do(ctx, caller, c, service.AgentInbox, in)
			return page.Messages, page.Page, err
		}) {
			if err != nil || m.ID == id {
				return m, err
			}
		}
	}
	return m, loci.NewError(loci.CodeNotFound)
}

// agentListen follows the messages to the agent of the target's key.
func (p *program) agentListen() *cobra.Command {
	return listen.Command(listen.Options{Console: &p.Console, Open: p.openStream})
}

// openStream returns a client for the messages of an agent, and the id for a workspace or a part of its id.
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
	id, err := records.Reader{Caller: remote{c}, Table: p.table}.Lists().ID(ctx, "workspace", loci.ID(workspace))
	return c, id, err
}
