package loci

// A TokenBudget bounds a text for an agent.
type TokenBudget int

// Rule requires at least one token of about four characters. An agent's tool has room for 8,000.
func (TokenBudget) Rule() Rule {
	return Rule{Min: 1, Max: 1_000_000, ToolDefault: 8000, Description: "Omits the rest"}
}

// ReadContext is the input of memory.context.
type ReadContext struct {
	AtlasID     ID          `json:"atlas_id,omitzero" id:"atlas" jsonschema:"Only this one"`
	WorkspaceID ID          `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Only this one"`
	Limit       Limit       `json:"limit,omitzero" jsonschema:"Most memories"`
	Query       Query       `json:"query,omitzero" jsonschema:"Your task"`
	MaxTokens   TokenBudget `json:"max_tokens,omitzero"`
}

// Cost returns how many calls of the rate a snapshot counts as.
func (in ReadContext) Cost() int { return in.Query.cost() }

// ContextGroup holds memories of one type, verified and recent ones first.
type ContextGroup struct {
	Type     MemoryType `json:"type"`
	Memories []Memory   `json:"memories" show:"without=title content type"`
}

// MemoryContext is the output of memory.context: the memories that an agent
// needs before it begins. Equal input gives equal bytes except for GeneratedAt.
type MemoryContext struct {
	Atlas       *Atlas         `json:"atlas,omitzero" jsonschema:"Present if the request names one"`
	Groups      []ContextGroup `json:"groups"`
	Markdown    string         `json:"markdown" jsonschema:"The groups as one text; each memory is fenced as data" show:"whole"`
	Tokens      int            `json:"tokens" jsonschema:"Tokens of the text, about four characters each"`
	GeneratedAt Time           `json:"generatedAt"`
}

// ContextGroupOrder is the order of the groups.
var ContextGroupOrder = []MemoryType{TypePreference, TypeDecision, TypeArchitecture, TypeFact, TypeTask, TypeNote}
