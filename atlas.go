package loci

import (
	"strconv"
	"strings"
	"unicode"
)

// A Keyword draws memories into an atlas.
type Keyword string

// Rule says that a keyword has 1 to 64 characters, trimmed.
func (Keyword) Rule() Rule { return Rule{MinLength: 1, MaxLength: 64, Trim: true} }

// Keywords are the routing keywords of an atlas.
type Keywords []Keyword

// Rule says that there are at most 64 keywords.
func (Keywords) Rule() Rule { return Rule{MaxItems: 64} }

// Different returns the keywords without repetition, in order.
func (k Keywords) Different() []string { return different(k) }

// A PlaceStatus is the state of an atlas or a workspace.
type PlaceStatus string

// The states of an atlas or a workspace.
const (
	PlaceActive   PlaceStatus = "active"
	PlaceArchived PlaceStatus = "archived"
)

// Rule lists the states.
func (PlaceStatus) Rule() Rule { return Rule{Enum: words([]PlaceStatus{PlaceActive, PlaceArchived})} }

// InboxName names the atlas that takes what no other one draws.
const InboxName = "Inbox"

// An Atlas is a knowledge base: memories on one matter.
type Atlas struct {
	ID          string      `json:"id" jsonschema:"UUIDv7"`
	WorkspaceID string      `json:"workspaceId"`
	Name        string      `json:"name"`
	Keywords    []string    `json:"keywords" jsonschema:"Words that draw a memory into this atlas"`
	Description string      `json:"description"`
	Default     bool        `json:"default" jsonschema:"The Inbox of its workspace"`
	MemoryCount int         `json:"memoryCount" jsonschema:"Its memories, whatever their status"`
	Status      PlaceStatus `json:"status"`
	CreatedAt   Time        `json:"createdAt"`
	UpdatedAt   Time        `json:"updatedAt"`
}

// Tag identifies this representation of the atlas.
func (a Atlas) Tag() string {
	return stateTag(a.ID, strconv.FormatInt(int64(a.UpdatedAt), 36), strconv.Itoa(a.MemoryCount), string(a.Status))
}

// CreateAtlas is the input of atlas.create.
type CreateAtlas struct {
	Name        Name        `json:"name"`
	WorkspaceID string      `json:"workspaceId,omitzero" jsonschema:"Default: the personal workspace"`
	Keywords    Keywords    `json:"keywords,omitzero" jsonschema:"Words that draw memories into this atlas"`
	Description Description `json:"description,omitzero"`
}

// GetAtlas is the input of atlas.get.
type GetAtlas struct {
	AtlasID string `json:"atlasId"`
}

// UpdateAtlas is the input of atlas.update; what is absent stays.
type UpdateAtlas struct {
	AtlasID     string       `json:"atlasId"`
	Name        *Name        `json:"name,omitzero"`
	Keywords    *Keywords    `json:"keywords,omitzero" jsonschema:"Replaces all routing keywords; an empty list clears them"`
	Description *Description `json:"description,omitzero"`
}

// ListAtlases is the input of atlas.list.
type ListAtlases struct {
	WorkspaceID string                `json:"workspace_id,omitzero" jsonschema:"Only this workspace"`
	Include     []IncludeArchivedOnly `json:"include,omitzero" jsonschema:"Show archived ones too"`
	Limit       Limit                 `json:"limit,omitzero"`
	Cursor      Cursor                `json:"cursor,omitzero"`
}

// CreatedAtlas is the output of atlas.create.
type CreatedAtlas struct {
	Atlas Atlas `json:"atlas"`
}

// Created reports that it was made.
func (CreatedAtlas) Created() bool { return true }

// OneAtlas is an output that holds an atlas.
type OneAtlas struct {
	Atlas Atlas `json:"atlas"`
}

// ETag identifies this representation of the atlas.
func (o OneAtlas) ETag() string { return o.Atlas.Tag() }

// Atlases is a page of atlases, newest first.
type Atlases struct {
	Atlases    []Atlas `json:"atlases"`
	NextCursor string  `json:"nextCursor,omitzero" jsonschema:"Absent on the last page"`
}

// Route returns the place in keywords of the atlas whose routing keywords
// match the texts best, and the keywords that did; -1 if none does. A word is
// a run of letters and digits in any letter case; a keyword of several words
// matches where they follow one another. The most different keywords win,
// then the first atlas.
func Route(keywords [][]string, texts ...string) (best int, matched []string) {
	best = -1
	var text string
	for i, list := range keywords {
		if len(list) > 0 && text == "" {
			text = wordRow(texts...)
		}
		var hit []string
		seen := map[string]bool{}
		for _, k := range list {
			row := wordRow(k)
			if row != " " && !seen[row] && strings.Contains(text, row) {
				seen[row] = true
				hit = append(hit, k)
			}
		}
		if len(hit) > len(matched) {
			best, matched = i, hit
		}
	}
	return best, matched
}

// wordRow writes the words of the texts in lower case, each between spaces:
// " one two ". Lower of upper folds what differs in case only, such as ß and ẞ.
func wordRow(texts ...string) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, t := range texts {
		open := false
		for _, r := range t {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && open {
				b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
				open = true
			} else if open {
				b.WriteByte(' ')
				open = false
			}
		}
		if open {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
