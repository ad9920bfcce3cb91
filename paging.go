package loci

import "cmp"

// Paging selects one page of a list. The input of every list embeds it.
type Paging struct {
	Limit  Limit  `json:"limit,omitzero"`
	Cursor Cursor `json:"cursor,omitzero"`
}

// Page has the cursor of the next page of a list. The output of every list embeds it.
type Page struct {
	NextCursor string `json:"nextCursor,omitzero" jsonschema:"Absent on the last page"`
}

// A Limit is the size of a page.
type Limit int

// Rule allows 1 to 100 items a page; the default is 20.
func (Limit) Rule() Rule { return Rule{Min: 1, Max: 100, Default: 20, Description: "Page size"} }

// OrDefault returns l, or 20 without a limit.
func (l Limit) OrDefault() int { return int(cmp.Or(l, 20)) }

// A Cursor is the start of the next page. It is opaque and signed, and is valid only for its caller, operation and
// input.
type Cursor string

// Rule bounds the length of a Cursor.
func (Cursor) Rule() Rule {
	return Rule{MinLength: 1, MaxLength: 8000, Description: "Previous nextCursor"}
}
