package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// tokens of a tile.
const tokens = 4

// A product has the common part of both products: the addresses of a panel.
type product struct {
	dst, stride Register // bytes between the rows of dst
	a, width    Register // bytes between the rows of a
	groups      Register
	weights     Register
	each        Register // scales of tokens
}

func newProduct() product {
	p := product{
		dst: pointer("dst"), stride: pointer("out"),
		a: pointer("a"), width: pointer("width"),
		groups:  pointer("groups"),
		weights: pointer("weights"),
	}
	SHLQ(Imm(2), p.stride)
	return p
}

// rows returns the addresses of the four rows after base.
func rows(base, stride, three Register) [tokens]Mem {
	return [tokens]Mem{
		{Base: base},
		{Base: base, Index: stride, Scale: 1},
		{Base: base, Index: stride, Scale: 2},
		{Base: base, Index: three, Scale: 1},
	}
}

func triple(of Register) Register {
	three := GP64()
	LEAQ(Mem{Base: of, Index: of, Scale: 2}, three)
	return three
}

// finish writes the sums of a token: times the scale of the row, times the scale of the token, plus the bias.
func (p product) finish(to Mem, token int, sums []VecVirtual, each VecVirtual) {
	scale, bias := pointer("scale"), pointer("bias")
	VBROADCASTSS(Mem{Base: p.each, Disp: 4 * token}, each)
	size := int(sums[0].Size())
	for i, sum := range sums {
		off := i * size
		VCVTDQ2PS(sum, sum)
		VMULPS(Mem{Base: scale, Disp: off}, sum, sum)
		VFMADD213PS(Mem{Base: bias, Disp: off}, each, sum)
		VMOVUPS(sum, to.Offset(off))
	}
}

// mulVNNI multiplies 4 tokens by 64 rows, in sixteen registers of sums. Each step of four k adds to all. Activations
// are unsigned, their value plus 128, so a sum begins at -128 times that of the weights.
func mulVNNI() {
	text("mulAVX512VNNI", "func(dst *float32, out int, a *byte, width, groups int, weights *int8, "+
		"start *int32, scale, bias, each *float32)",
		"writes the products of 64 rows with groups of four tokens.")
	p := newProduct()
	p.each = pointer("each")
	start := pointer("start")
	var sums [tokens][]VecVirtual
	for t := range sums {
		sums[t] = wideRegisters(4)
	}
	three, stripe := triple(p.width), GP64()
	MOVQ(p.width, stripe)
	SHLQ(Imm(4), stripe)
	stripes := triple(stripe)

	Label("group")
	for i := range 4 {
		VMOVDQU32(Mem{Base: start, Disp: 64 * i}, sums[0][i])
		for t := 1; t < tokens; t++ {
			VMOVDQA32(sums[0][i], sums[t][i])
		}
	}
	w, k := GP64(), GP64()
	MOVQ(p.weights, w)
	MOVQ(p.width, k)
	loop("step", k, 8, func() {
		for i := range 2 {
			stepVNNI(rows(w, stripe, stripes), 64*i, rows(p.a, p.width, three), 4*i, sums)
		}
		ADDQ(U32(2*64), w)
		ADDQ(Imm(8), p.a)
	})

	each := ZMM()
	to := GP64()
	MOVQ(p.dst, to)
	for t := range tokens {
		p.finish(Mem{Base: to}, t, sums[t], each)
		ADDQ(p.stride, to)
	}
	MOVQ(to, p.dst)
	ADDQ(three, p.a)
	ADDQ(Imm(4*tokens), p.each)
	DECQ(p.groups)
	JNZ(LabelRef("group"))
	end()
}

func stepVNNI(weights [4]Mem, at int, a [tokens]Mem, k int, sums [tokens][]VecVirtual) {
	w := wideRegisters(4)
	for i := range w {
		VMOVDQU32(weights[i].Offset(at), w[i])
	}
	for t := range tokens {
		four := ZMM()
		VPBROADCASTD(a[t].Offset(k), four)
		for i := range w {
			VPDPBUSD(w[i], four, sums[t][i])
		}
	}
}
