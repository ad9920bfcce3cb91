package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// mulAVX2 multiplies 4 tokens by 16 rows. VPMADDUBSW multiplies unsigned by signed, so it gets the magnitude of an
// activation. Where that was negative, it gets the complement of the weight, -w-1. The sum begins with the magnitudes
// of the token's negative activations, which the complements lack. Pairs are at most 2 x 127 x 128 and do not saturate.
func mulAVX2() {
	text("mulAVX2", "func(dst *float32, out int, a, signs *byte, width, groups int, weights *int8, "+
		"start *int32, scale, bias, each *float32)",
		"writes the products of sixteen rows with groups of four tokens.")
	p := newProduct()
	signs, stripe, done := pointer("signs"), GP64(), GP64()
	ones := YMM()
	VPCMPEQW(ones, ones, ones)
	VPABSW(ones, ones)
	MOVQ(p.width, stripe)
	SHLQ(Imm(4), stripe)
	SUBQ(p.a, signs) // from here on the distance between the two
	XORQ(done, done) // sixteen for each group
	three := triple(p.width)

	Label("group")
	start := pointer("start")
	ADDQ(done, start)
	var sums [tokens][]VecVirtual
	for t := range sums {
		sums[t] = registers(2)
		for i := range sums[t] {
			VPBROADCASTD(Mem{Base: start, Disp: 4 * t}, sums[t][i])
		}
	}
	w, k, s := GP64(), GP64(), GP64()
	MOVQ(p.weights, w)
	MOVQ(p.width, k)
	loop("step", k, 16, func() {
		LEAQ(Mem{Base: p.a, Index: signs, Scale: 1}, s)
		for i := range 4 {
			PREFETCHT0(Mem{Base: w, Index: stripe, Scale: 1, Disp: 64 * i})
			stepAVX2(ones, Mem{Base: w, Disp: 64 * i}, rows(p.a, p.width, three), rows(s, p.width, three), 4*i, sums)
		}
		ADDQ(U32(4*64), w)
		ADDQ(Imm(16), p.a)
	})

	each, to := YMM(), GP64()
	p.each = pointer("each")
	ADDQ(done, p.each)
	MOVQ(p.dst, to)
	for t := range tokens {
		p.finish(Mem{Base: to}, t, sums[t], each)
		ADDQ(p.stride, to)
	}
	MOVQ(to, p.dst)
	ADDQ(three, p.a)
	ADDQ(Imm(4*tokens), done)
	DECQ(p.groups)
	JNZ(LabelRef("group"))
	end()
}

// stepAVX2 adds four k.
func stepAVX2(ones Register, weights Mem, a, signs [tokens]Mem, k int, sums [tokens][]VecVirtual) {
	for t := range tokens {
		four, sign := YMM(), YMM()
		VPBROADCASTD(a[t].Offset(k), four)
		VPBROADCASTD(signs[t].Offset(k), sign)
		for i, sum := range sums[t] {
			pairs := YMM()
			VPXOR(weights.Offset(32*i), sign, pairs)
			VPMADDUBSW(pairs, four, pairs)
			VPMADDWD(ones, pairs, pairs)
			VPADDD(pairs, sum, sum)
		}
	}
}
