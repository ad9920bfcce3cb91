package main

import (
	"fmt"
	"slices"
)

// A network is the published model, in the shape in which it is used.
type network struct {
	words     []float32 // [vocabulary][width]
	positions []float32 // [positions][width], with token type 0
	norm      norm
	layers    [layers]layer
}

// A norm is a layer norm.
type norm struct{ gamma, beta []float32 }

// A dense is a dense layer, and the norm that follows if one does.
type dense struct {
	in, out       int
	weights, bias []float32 // weights [out][in]
	norm          norm
}

// A layer is one of the transformer's.
type layer struct{ qkv, mixed, up, down dense }

// network puts the tensors together.
func (p *published) network() (*network, error) {
	r := &reader{published: p}
	n := &network{
		words:     r.floats(vocabulary*width, "embeddings.word_embeddings.weight"),
		positions: r.floats(2*positions*width, "embeddings.position_embeddings.weight")[:positions*width],
		norm:      r.norm("embeddings.LayerNorm"),
	}
	kind := r.floats(2*width, "embeddings.token_type_embeddings.weight")[:width]
	for i := range n.positions {
		n.positions[i] += kind[i%width]
	}
	for i := range n.layers {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		n.layers[i] = layer{
			qkv: stack(
				r.dense(width, width, at+"attention.self.query"),
				r.dense(width, width, at+"attention.self.key"),
				r.dense(width, width, at+"attention.self.value"),
			),
			mixed: r.dense(width, width, at+"attention.output.dense"),
			up:    r.dense(width, inner, at+"intermediate.dense"),
			down:  r.dense(inner, width, at+"output.dense"),
		}
		n.layers[i].mixed.norm = r.norm(at + "attention.output.LayerNorm")
		n.layers[i].down.norm = r.norm(at + "output.LayerNorm")
	}
	return n, r.err
}

func (r *reader) norm(name string) norm {
	return norm{r.floats(width, name, ".weight"), r.floats(width, name, ".bias")}
}

func (r *reader) dense(in, out int, name string) dense {
	return dense{in: in, out: out, weights: r.floats(in*out, name, ".weight"), bias: r.floats(out, name, ".bias")}
}

// stack makes one layer of several that have the same inputs.
func stack(parts ...dense) dense {
	all := dense{in: parts[0].in}
	for _, p := range parts {
		all.out += p.out
		all.weights = slices.Concat(all.weights, p.weights)
		all.bias = slices.Concat(all.bias, p.bias)
	}
	return all
}
