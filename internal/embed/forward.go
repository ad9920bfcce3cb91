package embed

import "github.com/loci-memory/loci/internal/embed/kernel"

// scratch is what one text needs while it is embedded, 3 MB for the longest.
type scratch struct {
	ids       []int32
	x, y      []float32 // [padded][width]: what goes from layer to layer, and what is added to it
	wide      []float32 // [padded][3*width or inner]
	attention []float32
	inputs    kernel.Activations
}

// resize makes room for the ids.
func (s *scratch) resize(inner int) {
	tokens := len(s.ids)
	padded := kernel.Padded(tokens)
	s.x = room(s.x, padded*width)
	s.y = room(s.y, padded*width)
	s.wide = room(s.wide, padded*max(3*width, inner))
	s.attention = room(s.attention, kernel.ScratchLen(tokens))
}

// room returns a slice of n values without meaning, s itself if it is large enough.
func room(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// run returns the vector of s.ids: the mean of what the last layer makes of each of
// them, [CLS] and [SEP] too, divided by its length.
func (n *network) run(v *kernel.Variant, s *scratch) []float32 {
	s.resize(n.inner)
	n.look(v, s)
	for i := range n.layers {
		n.layers[i].run(v, s, n.inner)
	}
	vector := make([]float32, width)
	kernel.Mean(vector, s.x, len(s.ids))
	kernel.Normalize(vector)
	return vector
}

// look writes the embeddings of pieces and places to s.x.
func (n *network) look(v *kernel.Variant, s *scratch) {
	for t, id := range s.ids {
		kernel.Dequantize(s.x[t*width:][:width], n.words[int(id)*width:][:width], n.scales[id])
	}
	used := len(s.ids) * width
	v.AddNorm(s.x[:used], n.places[:used], n.norm.gamma, n.norm.beta, epsilon)
}

// run takes s.x through a layer: attention and a dense layer, then two with GELU
// between; after each what came in is added, and the sum normed.
func (l *layer) run(v *kernel.Variant, s *scratch, inner int) {
	tokens := len(s.ids)
	used := tokens * width

	v.Quantize(&s.inputs, s.x, tokens, width)
	v.Mul(s.wide, l.qkv, &s.inputs)
	v.Attention(s.y, s.wide, tokens, s.attention)
	v.Quantize(&s.inputs, s.y, tokens, width)
	v.Mul(s.y, l.mixed, &s.inputs)
	v.AddNorm(s.x[:used], s.y[:used], l.mixedNorm.gamma, l.mixedNorm.beta, epsilon)

	v.Quantize(&s.inputs, s.x, tokens, width)
	v.Mul(s.wide, l.up, &s.inputs)
	v.QuantizeGELU(&s.inputs, s.wide, tokens, inner)
	v.Mul(s.y, l.down, &s.inputs)
	v.AddNorm(s.x[:used], s.y[:used], l.downNorm.gamma, l.downNorm.beta, epsilon)
}
