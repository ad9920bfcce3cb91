package service

import "github.com/loci-memory/loci/internal/op"

// VariantNames are the values of LOCI_CONTRACT, the default first.
var VariantNames = []string{"full", "a", "b"}

// Variants are the variants of the contract by name. Variant a deletes atlases and workspaces without archiving them;
// variant b archives them, and deletes neither them nor memories.
var Variants = map[string]op.Variant{
	"full": {},
	"a": {Omitted: []string{AtlasArchive.Name, WorkspaceArchive.Name},
		Stable: []string{AtlasDelete.Name, WorkspaceDelete.Name}},
	"b": {Omitted: []string{MemoryDelete.Name, AtlasDelete.Name, WorkspaceDelete.Name}, Full: op.StableTools},
}
