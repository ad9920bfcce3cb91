package loci

import "strconv"

// A Keyword routes memories to an atlas.
type Keyword string

// Rule requires 1 to 64 characters, trimmed, one of them visible.
func (Keyword) Rule() Rule {
	return Rule{MinLength: 1, MaxLength: 64, Trim: true, Visible: true, NoSecret: true}
}

// Keywords are the routing keywords of an atlas.
type Keywords []Keyword

// Rule allows at most 64 keywords.
func (Keywords) Rule() Rule { return Rule{MaxItems: 64} }

// Unique returns the keywords without repetition, in order.
func (k Keywords) Unique() []string { return unique(k) }

// A ContainerStatus is the state of an atlas or a workspace.
type ContainerStatus string

// The states of an atlas or a workspace.
const (
	ContainerActive   ContainerStatus = "active"
	ContainerArchived ContainerStatus = "archived"
)

// Rule lists the states.
func (ContainerStatus) Rule() Rule { return Rule{Enum: enumValues(ContainerActive, ContainerArchived)} }

// AtlasStates and WorkspaceStates are the tables of the states of atlases and workspaces.
var (
	AtlasStates     = Machine[ContainerStatus]{"atlas", containerMoves, nil}
	WorkspaceStates = Machine[ContainerStatus]{"workspace", containerMoves, nil}
)

var containerMoves = []Move[ContainerStatus]{
	{"changed", []ContainerStatus{ContainerActive}, ""},
	{"joined", []ContainerStatus{ContainerActive}, ""},
	{"archived", []ContainerStatus{ContainerActive}, ContainerArchived},
	{"restored", []ContainerStatus{ContainerArchived}, ContainerActive},
}

// InboxName is the name of the atlas for memories that match no keywords.
const InboxName = "Inbox"

// An Archival says when an atlas or a workspace was archived, and by whom. It is empty while the record is active.
type Archival struct {
	ArchivedAt Time `json:"archivedAt,omitzero"`
	ArchivedBy ID   `json:"archivedBy,omitzero" jsonschema:"The user who archived it"`
}

// An Atlas is a knowledge base: memories on one subject.
type Atlas struct {
	ID          ID              `json:"id" jsonschema:"UUIDv7" write:"show"`
	WorkspaceID ID              `json:"workspaceId" id:"workspace" write:"show"`
	Name        string          `json:"name" write:"show"`
	Keywords    []string        `json:"keywords" jsonschema:"Keywords that route memories to this atlas"`
	Description string          `json:"description"`
	Default     bool            `json:"default" jsonschema:"The Inbox of its workspace"`
	MemoryCount int             `json:"memoryCount" jsonschema:"Memories of any status"`
	Status      ContainerStatus `json:"status" write:"show"`
	Archival
	CreatedAt Time `json:"createdAt"`
	UpdatedAt Time `json:"updatedAt"`
}

// EntityTag identifies this representation of the atlas.
func (a Atlas) EntityTag() string {
	return entityTag(a.ID, strconv.FormatInt(int64(a.UpdatedAt), 36), strconv.Itoa(a.MemoryCount), string(a.Status))
}

// CreateAtlas is the input of atlas.create.
type CreateAtlas struct {
	Name        Name        `json:"name" jsonschema:"At most 200 characters"`
	WorkspaceID ID          `json:"workspaceId,omitzero" id:"workspace" jsonschema:"Default: personal"`
	Keywords    Keywords    `json:"keywords,omitzero" jsonschema:"Keywords that route memories to this atlas"`
	Description Description `json:"description,omitzero" jsonschema:"What belongs in it"`
}

// GetAtlas is the input of atlas.get.
type GetAtlas struct {
	AtlasID ID `json:"atlasId" id:"atlas"`
}

// UpdateAtlas is the input of atlas.update; absent fields do not change.
type UpdateAtlas struct {
	AtlasID     ID           `json:"atlasId" id:"atlas"`
	Name        *Name        `json:"name,omitzero" jsonschema:"The new name"`
	Keywords    *Keywords    `json:"keywords,omitzero" jsonschema:"Replaces all"`
	Description *Description `json:"description,omitzero" jsonschema:"The new description"`
}

// ArchiveAtlas is the input of atlas.archive.
type ArchiveAtlas struct {
	AtlasID  ID    `json:"atlasId" id:"atlas"`
	Archived *bool `json:"archived,omitzero" jsonschema:"Default: true; false restores it"`
}

// DeleteAtlas is the input of atlas.delete.
type DeleteAtlas struct {
	AtlasID ID   `json:"atlasId" id:"atlas"`
	DryRun  bool `json:"dry_run,omitzero" jsonschema:"Delete nothing; count what the deletion would remove"`
}

// Deleted is the output of atlas.delete and workspace.delete. Only a dry run counts.
type Deleted struct {
	DryRun      bool `json:"dryRun,omitzero" jsonschema:"Nothing was deleted"`
	Memories    *int `json:"memories,omitzero" jsonschema:"Memories of any status that the deletion would remove"`
	Attachments *int `json:"attachments,omitzero" jsonschema:"Files that the deletion would remove"`
}

// NewDryRun returns the output of a dry run.
func NewDryRun(memories, attachments int) Deleted {
	return Deleted{DryRun: true, Memories: &memories, Attachments: &attachments}
}

// ListAtlases is the input of atlas.list.
type ListAtlases struct {
	WorkspaceID ID                    `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Only this one"`
	Include     []IncludeArchivedOnly `json:"include,omitzero" jsonschema:"These too"`
	Paging
}

// CreatedAtlas is the output of atlas.create.
type CreatedAtlas struct {
	Atlas Atlas `json:"atlas"`
}

// OneAtlas is an output that holds an atlas.
type OneAtlas struct {
	Atlas Atlas `json:"atlas"`
}

// ETag identifies this representation of the atlas.
func (o OneAtlas) ETag() string { return o.Atlas.EntityTag() }

// Atlases is a page of atlases, newest first.
type Atlases struct {
	Atlases []Atlas `json:"atlases" show:"columns=id name:12 workspace:12 status=active updatedAt"`
	Page
}
