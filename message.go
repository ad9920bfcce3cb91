package loci

// MaxMessage is the most bytes of a message.
const MaxMessage = 32 << 10

// MaxSubject is the most characters of the subject of a message.
const MaxSubject = 200

// MaxOpenMessages is the number of messages of a workspace that are not closed at which an inbox is full there.
const MaxOpenMessages = 10_000

// A MessageText is the content of a message between agents.
type MessageText string

// Rule requires a visible character, and at most 32 KiB.
func (MessageText) Rule() Rule {
	return Rule{MinLength: 1, MaxBytes: MaxMessage, Visible: true, Description: "At most 32 KiB"}
}

// A Subject is the subject of a message.
type Subject string

// Rule allows at most 200 characters.
func (Subject) Rule() Rule { return Rule{MaxLength: MaxSubject} }

// A ReceiptStatus is the state of a message at one recipient.
type ReceiptStatus string

// The states of a receipt.
const (
	ReceiptUnread       ReceiptStatus = "unread"
	ReceiptAcknowledged ReceiptStatus = "acknowledged"
	ReceiptClosed       ReceiptStatus = "closed"
)

// Rule lists the states.
func (ReceiptStatus) Rule() Rule {
	return Rule{Enum: enumValues(ReceiptUnread, ReceiptAcknowledged, ReceiptClosed)}
}

// ReceiptStates is the table of the states of a receipt. They go forward alone, and a repeated move changes nothing.
var ReceiptStates = Machine[ReceiptStatus]{"message", []Move[ReceiptStatus]{
	{"acknowledged", []ReceiptStatus{ReceiptUnread, ReceiptAcknowledged}, ReceiptAcknowledged},
	{"closed", []ReceiptStatus{ReceiptUnread, ReceiptAcknowledged, ReceiptClosed}, ReceiptClosed},
}, nil}

// A MessageSender is the agent that sent a message.
type MessageSender struct {
	AgentID ID     `json:"agentId" id:"agent"`
	Name    string `json:"name" jsonschema:"The name of its key"`
}

// A Message is a text from one agent to another, or to all agents of a workspace.
type Message struct {
	ID          ID            `json:"id" jsonschema:"UUIDv7" write:"show"`
	WorkspaceID ID            `json:"workspaceId" id:"workspace" write:"show"`
	From        MessageSender `json:"from"`
	To          ID            `json:"to,omitzero" id:"agent" jsonschema:"The agent, if it is not a broadcast"`
	Broadcast   bool          `json:"broadcast,omitzero" show:"unless=false"`
	Subject     string        `json:"subject"`
	Content     string        `json:"content" show:"text"`
	ThreadID    ID            `json:"threadId" jsonschema:"The first message of the thread" write:"show"`
	ReplyTo     ID            `json:"replyTo,omitzero"`
	CreatedAt   Time          `json:"createdAt"`
}

// A Receipt is the state of a message at a recipient.
type Receipt struct {
	MessageID ID            `json:"messageId"`
	Status    ReceiptStatus `json:"status"`
	UpdatedAt Time          `json:"updatedAt"`
}

// An InboxMessage is a message with the receipt of the agent that reads it.
type InboxMessage struct {
	Message
	Receipt Receipt `json:"receipt"`
}

// SendMessage is the input of agent.send.
type SendMessage struct {
	WorkspaceID ID          `json:"workspaceId,omitzero" id:"workspace" jsonschema:"Default: that of replyTo, or your personal one"`
	ToAgentID   ID          `json:"toAgentId,omitzero" id:"agent" jsonschema:"The recipient; default: the sender of replyTo; none for a broadcast"`
	Broadcast   bool        `json:"broadcast,omitzero" jsonschema:"To all agents of the workspace's members: either this or toAgentId"`
	Subject     Subject     `json:"subject,omitzero" jsonschema:"What it is about"`
	Content     MessageText `json:"content"`
	ReplyTo     ID          `json:"replyTo,omitzero" id:"message" jsonschema:"A message that you sent or received"`
}

// A Recipient is an agent that a message was sent to.
type Recipient struct {
	AgentID ID `json:"agentId" id:"agent"`
}

// A MessageSkip is the reason why a broadcast left out an agent.
type MessageSkip string

// SkipInboxFull is the reason of an agent with 10,000 messages of the workspace that are not closed.
const SkipInboxFull MessageSkip = "inbox_full"

// Rule lists the reasons.
func (MessageSkip) Rule() Rule { return Rule{Enum: enumValues(SkipInboxFull)} }

// A SkippedRecipient is an agent that a broadcast left out.
type SkippedRecipient struct {
	AgentID ID          `json:"agentId" id:"agent"`
	Reason  MessageSkip `json:"reason"`
}

// SentMessage is the output of agent.send.
type SentMessage struct {
	Message    Message            `json:"message"`
	Recipients []Recipient        `json:"recipients" show:"columns=agentId"`
	Skipped    []SkippedRecipient `json:"skipped" jsonschema:"Agents that a broadcast left out" show:"columns=agentId reason"`
}

// ListInbox is the input of agent.inbox.
type ListInbox struct {
	WorkspaceID ID            `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Default: all"`
	Status      ReceiptStatus `json:"status,omitzero" jsonschema:"Default: unread and acknowledged"`
	Paging
}

// Inbox is a page of the messages of an agent, newest first.
type Inbox struct {
	Messages []InboxMessage `json:"messages" show:"columns=id from:8 subject:12 content:14 receipt createdAt"`
	Page
}

// ListSent is the input of agent.sent.
type ListSent struct {
	WorkspaceID ID `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Default: all"`
	Paging
}

// A SentReceipt is the state of a message at one of its recipients.
type SentReceipt struct {
	AgentID ID            `json:"agentId" id:"agent"`
	Name    string        `json:"name" jsonschema:"The name of its key"`
	Status  ReceiptStatus `json:"status"`
}

// An OutboxMessage is a message with receipts: those of all recipients for the agent that sent it, or its own.
type OutboxMessage struct {
	Message
	Receipts []SentReceipt `json:"receipts"`
}

// Outbox is a page of the messages that an agent sent, newest first.
type Outbox struct {
	Messages []OutboxMessage `json:"messages" show:"columns=id subject:12 content:14 receipts:24 createdAt"`
	Page
}

// ListAgentMessages is the input of agent.messages.
type ListAgentMessages struct {
	AgentID ID `json:"agentId" id:"agent" jsonschema:"One of your own agents"`
	Paging
}

// AgentMessages is a page of the messages that an agent sent or received, newest first.
type AgentMessages struct {
	Messages []OutboxMessage `json:"messages" show:"columns=id from:8 subject:12 content:14 receipts:24 createdAt"`
	Page
}

// GetMessage names a message that the agent has received.
type GetMessage struct {
	MessageID ID `json:"messageId" id:"message"`
}

// OneReceipt is an output that holds a receipt.
type OneReceipt struct {
	Receipt Receipt `json:"receipt"`
}

// ListenAgent is the input of agent.events.
type ListenAgent struct {
	WorkspaceID ID `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Narrows the unread messages of ready"`
}

// The names of the events of agent.events.
const (
	EventReady          = "ready"
	EventMessageCreated = "message.created"
	EventHeartbeat      = "heartbeat"
	EventAuthRevoked    = "auth.revoked"
)

// An AgentEvent is one event of agent.events: ready with agentId and unread, message.created with message, heartbeat
// and auth.revoked with nothing.
type AgentEvent struct {
	AgentID ID              `json:"agentId,omitzero" id:"agent" jsonschema:"Of ready: the agent that listens"`
	Unread  *[]InboxMessage `json:"unread,omitzero" jsonschema:"Of ready: its oldest unread messages, oldest first"`
	Message *Message        `json:"message,omitzero" jsonschema:"Of message.created"`

	name    string
	encoded []byte
}

// NewAgentEvent returns an event without fields.
func NewAgentEvent(name string) AgentEvent { return AgentEvent{name: name} }

// NewMessageEvent returns the event of a message.
func NewMessageEvent(m Message) AgentEvent { return AgentEvent{Message: &m, name: EventMessageCreated} }

// WithEncoding returns the event with its encoding, which several listeners share.
func (e AgentEvent) WithEncoding(data []byte) AgentEvent {
	e.encoded = data
	return e
}

// Encoding returns the encoding of the event, or nil.
func (e AgentEvent) Encoding() []byte { return e.encoded }

// EventName returns the name of the event.
func (e AgentEvent) EventName() string { return e.name }

// EventID returns the id of the event: that of its message, which a client sends as Last-Event-ID.
func (e AgentEvent) EventID() string {
	if e.Message == nil {
		return ""
	}
	return string(e.Message.ID)
}

// Messages returns the messages of an event, oldest first: the unread ones of ready, or the one of message.created.
func (e AgentEvent) Messages() (list []Message) {
	if e.Unread != nil {
		for _, m := range *e.Unread {
			list = append(list, m.Message)
		}
	}
	if e.Message != nil {
		list = append(list, *e.Message)
	}
	return list
}

// A RecordKind is the kind of a record of a workspace.
type RecordKind string

// The kinds of records whose changes account.events reports.
const (
	KindMemory     RecordKind = "memory"
	KindAtlas      RecordKind = "atlas"
	KindWorkspace  RecordKind = "workspace"
	KindMember     RecordKind = "member"
	KindInvitation RecordKind = "invitation"
	KindSession    RecordKind = "session"
	KindCandidate  RecordKind = "candidate"
)

// Rule lists the kinds.
func (RecordKind) Rule() Rule {
	return Rule{Enum: enumValues(KindMemory, KindAtlas, KindWorkspace, KindMember, KindInvitation, KindSession,
		KindCandidate)}
}

// EventChanged is the name of an event of account.events, beside those of agent.events without a message.
const EventChanged = "changed"

// A ChangeEvent is one event of account.events: changed with what has changed, ready, heartbeat and auth.revoked with
// nothing.
type ChangeEvent struct {
	What        RecordKind `json:"what,omitzero" jsonschema:"Of changed: the kind of the record"`
	WorkspaceID ID         `json:"workspaceId,omitzero" id:"workspace" jsonschema:"Of changed"`
	ID          ID         `json:"id,omitzero" jsonschema:"Of changed: the record; of a member its user"`

	name string
}

// NewChangeEvent returns an event without fields.
func NewChangeEvent(name string) ChangeEvent { return ChangeEvent{name: name} }

// EventName returns the name of the event.
func (e ChangeEvent) EventName() string { return e.name }
