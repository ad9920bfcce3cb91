package loci

// An AgentStatus is the state of an agent.
type AgentStatus string

// The states of an agent. It is revoked with its key, or ends with its grant.
const (
	AgentActive  AgentStatus = "active"
	AgentRevoked AgentStatus = "revoked"
)

// Rule lists the states.
func (AgentStatus) Rule() Rule { return Rule{Enum: enumValues(AgentActive, AgentRevoked)} }

// An Agent is the trusted identity of an agent: an API key or an OAuth grant of its owner proves it.
type Agent struct {
	ID           ID          `json:"id" id:"agent" jsonschema:"agt_ and 32 hexadecimal digits"`
	WorkspaceIDs []ID        `json:"workspaceIds" jsonschema:"Workspaces of both the owner and you" show:"-"`
	Name         string      `json:"name" jsonschema:"The name of the key, or of the client of the grant"`
	SourceName   string      `json:"sourceName,omitzero" jsonschema:"The source that it last named in a session"`
	OwnerUserID  ID          `json:"ownerUserId"`
	KeyID        ID          `json:"keyId,omitzero" jsonschema:"The key that it acts with" show:"-"`
	GrantID      ID          `json:"grantId,omitzero" jsonschema:"The OAuth grant that it acts with, in place of a key" show:"-"`
	Status       AgentStatus `json:"status" show:"unless=active"`
	LastSeenAt   Time        `json:"lastSeenAt"`
	CreatedAt    Time        `json:"createdAt" show:"-"`
	UpdatedAt    Time        `json:"updatedAt" show:"-"`
}

// ListAgents is the input of agent.list.
type ListAgents struct {
	WorkspaceID ID `json:"workspace_id" id:"workspace" jsonschema:"Agents of its members"`
	Paging
}

// Agents is a page of agents, newest first.
type Agents struct {
	Agents []Agent `json:"agents" show:"columns=id name:12 owner:12 sourceName:12 status=active lastSeenAt"`
	Page
}
