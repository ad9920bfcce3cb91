package embed

import (
	"fmt"

	"github.com/loci-memory/loci/internal/embed/kernel"
	"github.com/loci-memory/loci/internal/embed/model"
)

// width is the length of a vector; the kernels are made for it.
const (
	width = 384
	heads = 12
)

// epsilon is added to the variance in layer norms.
const epsilon = 1e-12

// A network is the model, ready to run. It is immutable. Package model describes its tensors.
type network struct {
	positions          int // the most pieces of a text, with [CLS] and [SEP]
	feedForwardWidth   int
	wordEmbeddings     []int8    // [vocabulary][width], in the file
	scales             []float32 // [vocabulary]
	positionEmbeddings []float32 // [positions][width]
	norm               layerNorm
	layers             []layer
}

type layerNorm struct{ gamma, beta []float32 }

type layer struct {
	qkv, attentionOut, feedForwardIn, feedForwardOut *kernel.Matrix
	attentionNorm, feedForwardNorm                   layerNorm
}

func newNetwork(f *model.File) (*network, error) {
	if f.Width != width || f.Heads != heads {
		return nil, fmt.Errorf("embed: the model has %d heads in a width of %d, not %d in %d", f.Heads, f.Width, heads,
			width)
	}
	n := &network{
		positions:          f.Positions,
		feedForwardWidth:   f.Inner,
		wordEmbeddings:     f.Int8("words", f.Vocabulary, width),
		scales:             f.Float32("words.scale", f.Vocabulary),
		positionEmbeddings: f.Float32("positions", f.Positions, width),
		norm:               readNorm(f, "norm"),
		layers:             make([]layer, f.Layers),
	}
	for i := range n.layers {
		at := fmt.Sprint(i, ".")
		n.layers[i] = layer{
			qkv:             readMatrix(f, at+"qkv", width, 3*width),
			attentionOut:    readMatrix(f, at+"mixed", width, width),
			feedForwardIn:   readMatrix(f, at+"up", width, f.Inner),
			feedForwardOut:  readMatrix(f, at+"down", f.Inner, width),
			attentionNorm:   readNorm(f, at+"mixed"),
			feedForwardNorm: readNorm(f, at+"down"),
		}
	}
	return n, f.Err()
}

func readNorm(f *model.File, name string) layerNorm {
	return layerNorm{f.Float32(name+".gamma", width), f.Float32(name+".beta", width)}
}

func readMatrix(f *model.File, name string, in, out int) *kernel.Matrix {
	return kernel.Pack(f.Int8(name, out, in), f.Float32(name+".scale", out), f.Float32(name+".bias", out), in)
}
