package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/listen"
	"github.com/loci-memory/loci/internal/cli/output"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
)

// oneInboxMessage is the object of loci agent show.
type oneInboxMessage struct {
	Message loci.InboxMessage `json:"message"`
}

// agentShow shows a message of the inbox in full.
func (p *program) agentShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show <message-id>",
		Short:   "Show a message that you have received in full.",
		Long:    "Shows a message that you have received in full. It does not acknowledge the message.",
		Example: "loci agent show 01890000-0000-7000-8000-000000000000",
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
			if p.JSON {
				raw, err := op.Encode(oneInboxMessage{m})
				if err != nil {
					return err
				}
				_, err = p.Out.Write(append(format.EscapeJSON(raw), '\n'))
				return err
			}
			return (&output.Printer{Console: &p.Console}).PrintObject(oneInboxMessage{m})
		},
	}
}

// agentTarget returns the target of a command for agents alone.
func (p *program) agentTarget() (target, error) {
	t, err := p.resolveTarget()
	if err != nil {
		return t, err
	}
	p.currentTarget = t
	return t, t.checkAgent()
}

// findMessage returns the message of an id, or of its prefix: one that is open, or else a closed one.
func (p *program) findMessage(ctx context.Context, caller op.Caller, id loci.ID) (m loci.InboxMessage, err error) {
	p.requestID = string(loci.NewID(time.Now()))
	r := records.Reader{Caller: caller, Table: p.table, RequestID: p.requestID}
	given, err := json.Marshal(loci.GetMessage{MessageID: id})
	if err != nil {
		return m, err
	}
	if given, err = r.Lists().Expand(ctx, p.table.Op("agent.acknowledge"), given); err != nil {
		return m, err
	}
	var wanted loci.GetMessage
	if err := json.Unmarshal(given, &wanted); err != nil {
		return m, err
	}
	for _, status := range []loci.ReceiptStatus{"", loci.ReceiptClosed} {
		in := loci.ListInbox{Status: status, Paging: loci.Paging{Limit: 100}}
		for m, err := range loci.AllItems(in.Paging, func(at loci.Paging) ([]loci.InboxMessage, loci.Page, error) {
			var page loci.Inbox
			in.Paging = at
			c := &op.Call{Transport: "command", RequestID: p.requestID, ActorHeader: op.ActorAgent}
			err := callTyped(ctx, caller, p.table.Op("agent.inbox"), c, in, &page)
			return page.Messages, page.Page, err
		}) {
			if err != nil || m.ID == wanted.MessageID {
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
