package loci

import (
	"slices"
	"strconv"
)

// A Role grants a member rights in a workspace.
type Role string

// The roles, from the least to the most rights.
const (
	RoleMember Role = "member"
	RoleAdmin  Role = "admin"
	RoleOwner  Role = "owner"
)

// Rule lists the roles.
func (Role) Rule() Rule { return Rule{Enum: enumValues(RoleOwner, RoleAdmin, RoleMember)} }

// AtLeast reports whether r grants the rights of the role least.
func (r Role) AtLeast(least Role) bool { return slices.Index(roles, r) >= slices.Index(roles, least) }

// roles are in the order of their rights.
var roles = []Role{RoleMember, RoleAdmin, RoleOwner}

// A WorkspaceKind separates the personal workspace of a user from teams.
type WorkspaceKind string

// The kinds of workspaces.
const (
	WorkspacePersonal WorkspaceKind = "personal"
	WorkspaceTeam     WorkspaceKind = "team"
)

// Rule lists the kinds.
func (WorkspaceKind) Rule() Rule { return Rule{Enum: enumValues(WorkspacePersonal, WorkspaceTeam)} }

// A SecretsPolicy is a workspace's action for credentials in a text.
type SecretsPolicy string

// The policies.
const (
	SecretsReject SecretsPolicy = "reject"
	SecretsRedact SecretsPolicy = "redact"
	SecretsAllow  SecretsPolicy = "allow"
)

// Rule lists the policies.
func (SecretsPolicy) Rule() Rule {
	return Rule{Enum: enumValues(SecretsReject, SecretsRedact, SecretsAllow)}
}

// Settings are the settings of a workspace, made by its managers.
type Settings struct {
	Secrets SecretsPolicy `json:"secrets"`
}

// A Workspace has atlases and members.
type Workspace struct {
	ID          ID              `json:"id" jsonschema:"UUIDv7" id:"workspace" write:"show"`
	Name        string          `json:"name" write:"show"`
	Kind        WorkspaceKind   `json:"kind" write:"show"`
	Role        Role            `json:"role" jsonschema:"The caller's role" write:"show"`
	MemberCount int             `json:"memberCount"`
	AtlasCount  int             `json:"atlasCount"`
	Status      ContainerStatus `json:"status" write:"show"`
	Archival
	Settings  Settings `json:"settings"`
	CreatedAt Time     `json:"createdAt"`
	UpdatedAt Time     `json:"updatedAt"`
}

// EntityTag identifies this representation of the workspace.
func (w Workspace) EntityTag() string {
	return entityTag(w.ID, strconv.FormatInt(int64(w.UpdatedAt), 36), string(w.Role),
		strconv.Itoa(w.MemberCount), strconv.Itoa(w.AtlasCount), string(w.Status))
}

// CreateWorkspace is the input of workspace.create.
type CreateWorkspace struct {
	Name Name `json:"name" jsonschema:"At most 200 characters"`
}

// GetWorkspace is the input of workspace.get.
type GetWorkspace struct {
	WorkspaceID ID `json:"workspaceId" id:"workspace"`
}

// UpdateWorkspace is the input of workspace.update; absent fields do not change.
type UpdateWorkspace struct {
	WorkspaceID ID              `json:"workspaceId" id:"workspace"`
	Name        *Name           `json:"name,omitzero" jsonschema:"The new name"`
	Settings    *ChangeSettings `json:"settings,omitzero" jsonschema:"The new settings"`
}

// ChangeSettings are the settings of workspace.update; absent ones do not change.
type ChangeSettings struct {
	Secrets *SecretsPolicy `json:"secrets,omitzero" jsonschema:"What happens to credentials in texts"`
}

// ArchiveWorkspace is the input of workspace.archive.
type ArchiveWorkspace struct {
	WorkspaceID ID    `json:"workspaceId" id:"workspace"`
	Archived    *bool `json:"archived,omitzero" jsonschema:"Default: true; false restores it"`
}

// DeleteWorkspace is the input of workspace.delete.
type DeleteWorkspace struct {
	WorkspaceID ID   `json:"workspaceId" id:"workspace"`
	DryRun      bool `json:"dry_run,omitzero" jsonschema:"Delete nothing; show whether the deletion is possible"`
}

// LeaveWorkspace is the input of workspace.leave.
type LeaveWorkspace struct {
	WorkspaceID ID        `json:"workspaceId" id:"workspace"`
	Confirm     Confirmed `json:"confirm"`
}

// TransferWorkspace is the input of workspace.transfer.
type TransferWorkspace struct {
	WorkspaceID ID        `json:"workspaceId" id:"workspace"`
	UserID      ID        `json:"userId" id:"user" jsonschema:"The member who becomes the owner"`
	Confirm     Confirmed `json:"confirm"`
}

// ListWorkspaces is the input of workspace.list.
type ListWorkspaces struct {
	Include []IncludeArchivedOnly `json:"include,omitzero" jsonschema:"These too"`
	Paging
}

// CreatedWorkspace is the output of workspace.create.
type CreatedWorkspace struct {
	Workspace Workspace `json:"workspace"`
}

// OneWorkspace is an output that holds a workspace.
type OneWorkspace struct {
	Workspace Workspace `json:"workspace"`
}

// ETag identifies this representation of the workspace.
func (o OneWorkspace) ETag() string { return o.Workspace.EntityTag() }

// ActivityWeeks is the number of weeks of workspace.get.
const ActivityWeeks = 12

// MaxActivity is the number up to which the memories of a week are counted.
const MaxActivity = 10_000

// An ActivityWeek counts what happened in a week to the memories that a workspace has, each up to 10,000.
type ActivityWeek struct {
	Week       string `json:"week" jsonschema:"ISO 8601, in UTC: 2026-W48"`
	Written    int    `json:"written" jsonschema:"Memories that were created"`
	Verified   int    `json:"verified" jsonschema:"Memories whose last review was then"`
	Superseded int    `json:"superseded" jsonschema:"Memories that were replaced"`
}

// WorkspaceActivity is the output of workspace.get. The entity tag does not cover the activity.
type WorkspaceActivity struct {
	OneWorkspace
	Activity []ActivityWeek `json:"activity" jsonschema:"The last 12 weeks, oldest first; the ETag leaves them out" show:"columns=week written verified superseded"`
}

// Workspaces is a page of workspaces, newest first.
type Workspaces struct {
	Workspaces []Workspace `json:"workspaces" show:"columns=id name:12 kind role status=active updatedAt"`
	Page
}

// A Member is a user in a workspace.
type Member struct {
	UserID   ID     `json:"userId"`
	Email    string `json:"email"`
	Name     string `json:"name"`
	Role     Role   `json:"role"`
	JoinedAt Time   `json:"joinedAt"`
}

// A MemberRole is a role that the owner may give.
type MemberRole string

// Rule lists the roles.
func (MemberRole) Rule() Rule { return Rule{Enum: enumValues(RoleAdmin, RoleMember)} }

// UpdateMember is the input of member.update.
type UpdateMember struct {
	WorkspaceID ID         `json:"workspaceId" id:"workspace"`
	UserID      ID         `json:"userId" id:"user"`
	Role        MemberRole `json:"role" jsonschema:"The new role"`
	Confirm     Confirmed  `json:"confirm"`
}

// RemoveMember is the input of member.remove.
type RemoveMember struct {
	WorkspaceID ID        `json:"workspaceId" id:"workspace"`
	UserID      ID        `json:"userId" id:"user"`
	Confirm     Confirmed `json:"confirm"`
}

// OneMember is an output that holds a member.
type OneMember struct {
	Member Member `json:"member"`
}

// ListMembers is the input of member.list.
type ListMembers struct {
	WorkspaceID ID `json:"workspaceId" id:"workspace"`
	Paging
}

// Members is a page of members, newest first.
type Members struct {
	Members []Member `json:"members" show:"columns=userId name:12 email:12 role joinedAt"`
	Page
}
