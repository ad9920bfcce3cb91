package main

import (
	"fmt"
	"slices"
)

// A network is the published model, in the shape in which it is used.
type network struct {
	wordEmbeddings     []float32 // [vocabulary][width]
	positionEmbeddings []float32 // [positions][width], with token type 0
	norm               layerNorm
	layers             [layers]layer
}

// A layerNorm is a layer norm.
type layerNorm struct{ gamma, beta []float32 }

// A denseLayer is a dense layer, and the norm that follows if one does.
type denseLayer struct {
	in, out       int
	weights, bias []float32 // weights [out][in]
	norm          layerNorm
}

// A layer is one of the transformer's.
type layer struct{ qkv, attentionOut, feedForwardIn, feedForwardOut denseLayer }

// network builds the network from the tensors.
func (p *sourceModel) network() (*network, error) {
	r := &tensorReader{sourceModel: p}
	n := &network{
		wordEmbeddings:     r.floats(vocabulary*width, "embeddings.word_embeddings.weight"),
		positionEmbeddings: r.floats(2*positions*width, "embeddings.position_embeddings.weight")[:positions*width],
		norm:               r.norm("embeddings.LayerNorm"),
	}
	kind := r.floats(2*width, "embeddings.token_type_embeddings.weight")[:width]
	for i := range n.positionEmbeddings {
		n.positionEmbeddings[i] += kind[i%width]
	}
	for i := range n.layers {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		n.layers[i] = layer{
			qkv: concatOutputs(
				r.dense(width, width, at+"attention.self.query"),
				r.dense(width, width, at+"attention.self.key"),
				r.dense(width, width, at+"attention.self.value"),
			),
			attentionOut:   r.dense(width, width, at+"attention.output.dense"),
			feedForwardIn:  r.dense(width, inner, at+"intermediate.dense"),
			feedForwardOut: r.dense(inner, width, at+"output.dense"),
		}
		n.layers[i].attentionOut.norm = r.norm(at + "attention.output.LayerNorm")
		n.layers[i].feedForwardOut.norm = r.norm(at + "output.LayerNorm")
	}
	return n, r.err
}

func (r *tensorReader) norm(name string) layerNorm {
	return layerNorm{r.floats(width, name, ".weight"), r.floats(width, name, ".bias")}
}

func (r *tensorReader) dense(in, out int, name string) denseLayer {
	return denseLayer{in: in, out: out, weights: r.floats(in*out, name, ".weight"), bias: r.floats(out, name, ".bias")}
}

// concatOutputs joins layers with the same inputs into one layer.
func concatOutputs(parts ...denseLayer) denseLayer {
	all := denseLayer{in: parts[0].in}
	for _, p := range parts {
		all.out += p.out
		all.weights = slices.Concat(all.weights, p.weights)
		all.bias = slices.Concat(all.bias, p.bias)
	}
	return all
}
