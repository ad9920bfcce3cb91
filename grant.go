package loci

// A Grant is what a user lets an OAuth client do: it uses some of the user's workspaces, with tokens that it refreshes.
type Grant struct {
	ID           ID               `json:"id" jsonschema:"UUIDv7"`
	Client       GrantClient      `json:"client"`
	RedirectHost string           `json:"redirectHost" jsonschema:"Where the client received the grant"`
	Scope        string           `json:"scope"`
	Workspaces   []GrantWorkspace `json:"workspaces" jsonschema:"The only workspaces that the client reaches"`
	CreatedAt    Time             `json:"createdAt"`
	UpdatedAt    Time             `json:"updatedAt" jsonschema:"When the client last got tokens"`
	LastUsedAt   Time             `json:"lastUsedAt,omitzero"`
	ExpiresAt    Time             `json:"expiresAt" jsonschema:"Unless the client refreshes its tokens before"`
}

// A GrantClient is the client of a grant, as it describes itself.
type GrantClient struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	URI  string `json:"uri,omitzero" jsonschema:"Home page"`
}

// A GrantWorkspace is a workspace that a grant reaches.
type GrantWorkspace struct {
	ID   ID     `json:"id"`
	Name string `json:"name"`
}

// ListGrants is the input of grant.list.
type ListGrants struct {
	Paging
}

// Grants is a page of grants, newest first.
type Grants struct {
	Grants []Grant `json:"grants" show:"columns=id client:16 workspaces:20 lastUsedAt createdAt expiresAt"`
	Page
}

// RevokeGrant is the input of grant.revoke.
type RevokeGrant struct {
	GrantID ID `json:"grantId" id:"grant"`
}
