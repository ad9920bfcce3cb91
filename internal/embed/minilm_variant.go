package embed

import "github.com/loci-memory/loci/internal/embed/kernel"

// NewMiniLMWith returns the embedder with kernels of this variant, for measurements and comparisons.
func NewMiniLMWith(v *kernel.Variant) *MiniLM { return newMiniLM(v) }
