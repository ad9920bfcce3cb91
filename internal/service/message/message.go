package message

import (
	"context"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/messagedb"
)

// SendMessage sends a message of the actor's agent to an agent, or to all agents of a workspace.
func (s *Service) SendMessage(ctx context.Context, actor *identity.Actor,
	in loci.SendMessage) (loci.SentMessage, error) {
	if answers := in.ReplyTo != "" && !in.Broadcast; in.Broadcast == (in.ToAgentID != "") && !answers {
		return loci.SentMessage{}, loci.Errorf(loci.CodeInvalidQuery,
			"send either toAgentId or broadcast: true, or replyTo alone to answer its sender")
	}
	sent := loci.Message{To: in.ToAgentID, Broadcast: in.Broadcast, Subject: string(in.Subject),
		Content: string(in.Content), ReplyTo: in.ReplyTo}
	hasSecret := len(secret.Scan(sent.Subject))+len(secret.Scan(sent.Content)) > 0
	return store.Write(ctx, s.store, actor, func(tx *store.Tx) (out loci.SentMessage, err error) {
		room, err := messagedb.OpenMailroom(tx, in.WorkspaceID, in.ReplyTo)
		if err != nil {
			return out, err
		}
		m := sent
		if hasSecret {
			policy, err := room.Secrets()
			if err != nil {
				return out, err
			}
			if m, err = checkedMessage(policy, m); err != nil {
				return out, err
			}
		}
		if m.ReplyTo != "" {
			parent, err := room.Parent(m.ReplyTo)
			if err != nil {
				return out, err
			}
			m.ThreadID = parent.ThreadID
			if m.To == "" && !m.Broadcast {
				m.To = parent.From.AgentID
			}
			if in.ToAgentID == "" && m.To == actor.AgentID {
				return out, loci.Errorf(loci.CodeInvalidQuery, "replyTo names your own message: name a toAgentId too")
			}
		}
		recipients, err := room.Recipients(m.To)
		if loci.Is(err, loci.CodeNotFound) && in.WorkspaceID == "" && in.ReplyTo == "" {
			err = loci.Errorf(loci.CodeNotFound, "There is no such agent in your personal workspace: "+
				"name the workspace that you share with it.")
		}
		if err != nil {
			return out, err
		}
		out.Recipients, out.Skipped = []loci.Recipient{}, []loci.SkippedRecipient{}
		reached := recipients[:0]
		for _, x := range recipients {
			full, err := room.Full(x)
			switch {
			case err != nil:
				return out, err
			case m.To != "" && (full || x.Revoked):
				return out, refusedRecipient(x)
			case full:
				out.Skipped = append(out.Skipped, loci.SkippedRecipient{AgentID: x.ID, Reason: loci.SkipInboxFull})
				continue
			}
			reached = append(reached, x)
			out.Recipients = append(out.Recipients, loci.Recipient{AgentID: x.ID})
		}
		out.Message, err = room.Add(m, reached)
		return out, err
	})
}

// refusedRecipient returns the error for a recipient that is revoked, or else full.
func refusedRecipient(x messagedb.Recipient) error {
	if x.Revoked {
		return loci.Errorf(loci.CodeStateConflict, "The agent is revoked: it receives nothing more.")
	}
	return loci.Errorf(loci.CodeStateConflict,
		"The inbox of the agent is full: it holds %d messages of this workspace that are not closed.",
		loci.MaxOpenMessages)
}

// checkedMessage returns a message as it may be stored under a policy.
func checkedMessage(policy loci.SecretsPolicy, m loci.Message) (out loci.Message, err error) {
	if m.Subject, err = secret.Apply(policy, "", secret.MessageField+"subject", m.Subject); err != nil {
		return m, err
	}
	if m.Content, err = secret.Apply(policy, "", secret.MessageField+"content", m.Content); err != nil {
		return m, err
	}
	if len(m.Content) > loci.MaxMessage || utf8.RuneCountInString(m.Subject) > loci.MaxSubject {
		err = loci.Errorf(loci.CodeInvalidQuery, "content must have at most %d bytes and subject %d characters, with "+
			"[REDACTED:rule] in place of their credentials", loci.MaxMessage, loci.MaxSubject)
	}
	return m, err
}

// ListInbox lists the messages that the actor's agent has received, newest first.
func (s *Service) ListInbox(ctx context.Context, actor *identity.Actor, in loci.ListInbox) (out loci.Inbox, err error) {
	list, page, err := cursor.ListPage(ctx, s.store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[messagedb.Received], error) {
			return messagedb.Inbox(tx, in.WorkspaceID, in.Status, p)
		},
		func(x messagedb.Received) page.Key { return page.Key{At: loci.Time(x.Number)} })
	out.Messages, out.Page = []loci.InboxMessage{}, page
	for _, x := range list {
		out.Messages = append(out.Messages, x.InboxMessage)
	}
	return out, err
}

// ListSent lists the messages that the actor's agent sent, newest first.
func (s *Service) ListSent(ctx context.Context, actor *identity.Actor, in loci.ListSent) (out loci.Outbox, err error) {
	out.Messages, out.Page, err = listOutbox(ctx, s, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[messagedb.Sent], error) {
			return messagedb.Outbox(tx, in.WorkspaceID, p)
		})
	return out, err
}

// ListAgentMessages lists the messages that an agent of the actor sent or received, newest first. It moves no receipt.
func (s *Service) ListAgentMessages(ctx context.Context, actor *identity.Actor,
	in loci.ListAgentMessages) (out loci.AgentMessages, err error) {
	out.Messages, out.Page, err = listOutbox(ctx, s, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[messagedb.Sent], error) {
			return messagedb.OfAgent(tx, in.AgentID, p)
		})
	return out, err
}

// listOutbox reads a page of messages with receipts.
func listOutbox(ctx context.Context, s *Service, actor *identity.Actor, p *loci.Paging, in any,
	read func(*store.Tx, page.Request) (page.List[messagedb.Sent], error)) ([]loci.OutboxMessage, loci.Page, error) {
	list, page, err := cursor.ListPage(ctx, s.store, actor, p, in, read,
		func(x messagedb.Sent) page.Key { return page.Key{At: loci.Time(x.Number)} })
	messages := []loci.OutboxMessage{}
	for _, x := range list {
		messages = append(messages, x.OutboxMessage)
	}
	return messages, page, err
}

// AcknowledgeMessage marks a message as read by the actor's agent.
func (s *Service) AcknowledgeMessage(ctx context.Context, actor *identity.Actor,
	in loci.GetMessage) (loci.OneReceipt, error) {
	return s.moveReceipt(ctx, actor, in.MessageID, "acknowledged")
}

// CloseMessage marks a message as done by the actor's agent.
func (s *Service) CloseMessage(ctx context.Context, actor *identity.Actor,
	in loci.GetMessage) (loci.OneReceipt, error) {
	return s.moveReceipt(ctx, actor, in.MessageID, "closed")
}

func (s *Service) moveReceipt(ctx context.Context, actor *identity.Actor, id loci.ID,
	move string) (loci.OneReceipt, error) {
	return store.Write(ctx, s.store, actor, func(tx *store.Tx) (out loci.OneReceipt, err error) {
		out.Receipt, err = messagedb.MoveReceipt(tx, id, move)
		return out, err
	})
}
