package kernel

import (
	"golang.org/x/sys/cpu"
)

//go:generate go -C avo run . -out ../simd_amd64.s -stubs ../simd_amd64.go -pkg kernel

// assemblyVariants returns the variants in assembly that this processor and its operating system support.
func assemblyVariants() (v []*Variant) {
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512VL && x.HasAVX512VNNI && x.HasAVX2 && x.HasFMA {
		v = append(v, vnni)
	}
	if x.HasAVX2 && x.HasFMA {
		v = append(v, avx2)
	}
	return v
}

var vnni = &Variant{
	name:      "avx512vnni",
	quantize:  quantizeVNNI,
	mul:       mulVNNI,
	attention: attendAVX2,
	gelu:      geluRowAVX2,
	addNorm:   addNormRowAVX2,
}

var avx2 = &Variant{
	name:      "avx2",
	quantize:  quantizeAVX2,
	mul:       mulPanelsAVX2,
	attention: attendAVX2,
	gelu:      geluRowAVX2,
	addNorm:   addNormRowAVX2,
}

func geluRowAVX2(dst, x []float32) { geluAVX2(&dst[0], &x[0], len(x)) }

func addNormRowAVX2(x, residual, gamma, beta []float32, eps float32) {
	addNormAVX2(&x[0], &residual[0], &gamma[0], &beta[0], len(x), eps)
}

// quantizeVNNI stores a row with the sign bits flipped.
func quantizeVNNI(a *Activations, token int, x []float32) {
	step, scale := quantizationStep(rotateAVX2(&a.row[0], &x[0], len(x)/Block))
	a.scale[token] = scale
	storeAVX512VNNI(&a.bytes[token*a.width], &a.row[0], len(x), step)
}

// quantizeAVX2 stores the magnitudes of a row, a mask of its negative values, and their sum.
func quantizeAVX2(a *Activations, token int, x []float32) {
	if token == 0 {
		a.signs = Resize(a.signs, len(a.bytes))
		a.offsets = Resize(a.offsets, len(a.scale))
		clear(a.signs[a.tokens*a.width:])
		clear(a.offsets[a.tokens:])
	}
	step, scale := quantizationStep(rotateAVX2(&a.row[0], &x[0], len(x)/Block))
	a.scale[token] = scale
	at := token * a.width
	a.offsets[token] = storeAVX2(&a.bytes[at], &a.signs[at], &a.row[0], len(x), step)
}

func mulVNNI(dst []float32, m *Matrix, a *Activations) {
	for o := 0; o < m.out; o += rowMultiple {
		mulAVX512VNNI(&dst[o], m.out, &a.bytes[0], m.in, len(a.scale)/4,
			&m.weights[o*m.in], &m.offsets[o], &m.scale[o], &m.bias[o], &a.scale[0])
	}
}

func mulPanelsAVX2(dst []float32, m *Matrix, a *Activations) {
	for o := 0; o < m.out; o += panelRows {
		mulAVX2(&dst[o], m.out, &a.bytes[0], &a.signs[0], m.in, len(a.scale)/4,
			&m.weights[o*m.in], &a.offsets[0], &m.scale[o], &m.bias[o], &a.scale[0])
	}
}

// queryBlock is how many queries are taken together, if there are so many.
const queryBlock = 12

// attendAVX2 takes twelve queries of a head at a time. Keys are padded to a multiple of
// sixteen; a mask keeps the padding from having weight.
func attendAVX2(dst, qkv []float32, tokens int, scratch []float32) {
	n := padKeys(tokens)
	keys, scratch := scratch[:headWidth*n], scratch[headWidth*n:]
	values, scratch := scratch[:headWidth*n], scratch[headWidth*n:]
	scores, mask := scratch[:queryBlock*n], scratch[queryBlock*n:(queryBlock+1)*n]
	var inverse [queryBlock]float32
	clear(mask[:tokens])
	for i := tokens; i < n; i++ {
		mask[i] = -1e30
		for d := range headWidth {
			keys[d*n+i] = 0
		}
	}
	padded := Padded(tokens)
	for head := 0; head < width; head += headWidth {
		transposeAVX2(&keys[0], &values[0], &qkv[head], padded, n)
		for t := 0; t < padded; t += queryBlock {
			queries := min(queryBlock, padded-t)
			for q := 0; q < queries; q += 4 {
				scoreAVX2(&scores[q*n], &qkv[(t+q)*3*width+head], &keys[0], &mask[0], n)
				softmaxAVX2(&scores[q*n], &inverse[q], n)
			}
			mixAVX2(&dst[t*width+head], &scores[0], &inverse[0], &values[0], tokens, n, queries)
		}
	}
}
