package embed

import (
	"github.com/loci-memory/loci/internal/embed/kernel"
)

// scratch is the working memory for embedding one text, 3 MB for the longest.
type scratch struct {
	ids              []int32
	hidden, residual []float32 // [padded][width]: the values between layers, and the residual
	expanded         []float32 // [padded][3*width or inner]
	attention        []float32
	inputs           kernel.Activations
}

// resize makes room for the ids.
func (s *scratch) resize(inner int) {
	tokens := len(s.ids)
	padded := kernel.Padded(tokens)
	s.hidden = kernel.Resize(s.hidden, padded*width)
	s.residual = kernel.Resize(s.residual, padded*width)
	s.expanded = kernel.Resize(s.expanded, padded*max(3*width, inner))
	s.attention = kernel.Resize(s.attention, kernel.ScratchLen(tokens))
}

// run returns the vector of s.ids: the mean of the last layer's outputs, including [CLS] and [SEP], with norm 1.
func (n *network) run(v *kernel.Variant, s *scratch) []float32 {
	s.resize(n.feedForwardWidth)
	n.embedTokens(v, s)
	for i := range n.layers {
		n.layers[i].run(v, s, n.feedForwardWidth)
	}
	vector := make([]float32, width)
	kernel.Mean(vector, s.hidden, len(s.ids))
	kernel.Normalize(vector)
	return vector
}

// embedTokens writes the embeddings of pieces and positions to s.hidden.
func (n *network) embedTokens(v *kernel.Variant, s *scratch) {
	for t, id := range s.ids {
		kernel.Dequantize(s.hidden[t*width:][:width], n.wordEmbeddings[int(id)*width:][:width], n.scales[id])
	}
	used := len(s.ids) * width
	v.AddNorm(s.hidden[:used], n.positionEmbeddings[:used], n.norm.gamma, n.norm.beta, epsilon)
}

// run applies a layer to s.hidden: attention and a dense layer, then two with GELU between them. After each block the
// input is added, and the sum is normalized.
func (l *layer) run(v *kernel.Variant, s *scratch, inner int) {
	tokens := len(s.ids)
	used := tokens * width

	v.Quantize(&s.inputs, s.hidden, tokens, width)
	v.Mul(s.expanded, l.qkv, &s.inputs)
	v.Attention(s.residual, s.expanded, tokens, s.attention)
	v.Quantize(&s.inputs, s.residual, tokens, width)
	v.Mul(s.residual, l.attentionOut, &s.inputs)
	v.AddNorm(s.hidden[:used], s.residual[:used], l.attentionNorm.gamma, l.attentionNorm.beta, epsilon)

	v.Quantize(&s.inputs, s.hidden, tokens, width)
	v.Mul(s.expanded, l.feedForwardIn, &s.inputs)
	v.QuantizeGELU(&s.inputs, s.expanded, tokens, inner)
	v.Mul(s.residual, l.feedForwardOut, &s.inputs)
	v.AddNorm(s.hidden[:used], s.residual[:used], l.feedForwardNorm.gamma, l.feedForwardNorm.beta, epsilon)
}
