package loci

// Paging asks for one page of a list. The input of every list embeds it.
type Paging struct {
	Limit  Limit  `json:"limit,omitzero"`
	Cursor Cursor `json:"cursor,omitzero"`
}

// Page says where the next page of a list begins. The output of every list embeds it.
type Page struct {
	NextCursor string `json:"nextCursor,omitzero" jsonschema:"Absent on the last page"`
}

// A Limit is the size of a page.
type Limit int

// Rule says that a page has 1 to 100 items, and 20 by default.
func (Limit) Rule() Rule { return Rule{Min: 1, Max: 100, Default: 20, Description: "Page size"} }

// OrDefault returns l, or 20 without a limit.
func (l Limit) OrDefault() int {
	if l == 0 {
		return 20
	}
	return int(l)
}

// A Cursor says where the next page begins. It is opaque and signed: it fits
// the caller, the operation and the input that it came from, and no others.
type Cursor string

// Rule bounds the length of a Cursor.
func (Cursor) Rule() Rule {
	return Rule{MinLength: 1, MaxLength: 8000, Description: "The last nextCursor"}
}
