package loci

// Metadata is a free JSON object. Its values are those of encoding/json; a server reads numbers as json.Number, which
// keeps their digits. Equal objects are written as equal bytes, because names are sorted.
type Metadata map[string]any

// The limits of Metadata.
const (
	MaxMetadataBytes  = 8 << 10 // of names, strings and numbers together, in UTF-8 without quotes and escapes
	MaxMetadataValues = 1000    // members and items at any depth
	MaxMetadataDepth  = 16      // objects and lists within one another; the outermost object is the first
)

// Rule describes the limits.
func (Metadata) Rule() Rule { return Rule{Description: "Free object of at most 8 KiB"} }
