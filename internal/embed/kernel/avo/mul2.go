package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// mulAVX2 multiplies 4 tokens by 16 rows. VPMADDUBSW multiplies unsigned by signed, so it gets the magnitude of an
// activation. Where that was negative, it gets the complement of the weight, -w-1. The sum begins with the magnitudes
// of the token's negative activations, which the complements lack. Pairs are at most 2 x 127 x 128 and do not saturate.
// Where the sum of two pairs fits into 16 bits too, both are widened together, which saves an eighth of the work: see
// reaches.
func mulAVX2() {
	m := machine{suffix: "AVX2"}
	m.text("mul", "func(dst *float32, out int, a, signs *byte, reach *uint16, width, groups int, weights *int8, "+
		"bounds *uint16, start *int32, scale, bias, each *float32)",
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
		sums[t] = m.vectors(2)
		for i := range sums[t] {
			VPBROADCASTD(Mem{Base: start, Disp: 4 * t}, sums[t][i])
		}
	}
	p.reaches(done)
	w, k, s := GP64(), GP64(), GP64()
	MOVQ(p.weights, w)
	MOVQ(p.width, k)
	steps := func(label string, step func(w Mem, a, signs [tokens]Mem, k int)) {
		loop(label, k, 16, func() {
			LEAQ(Mem{Base: p.a, Index: signs, Scale: 1}, s)
			for i := range 2 {
				for j := range 2 {
					PREFETCHT0(Mem{Base: w, Index: stripe, Scale: 1, Disp: 64 * (2*i + j)})
				}
				step(Mem{Base: w, Disp: 128 * i}, rows(p.a, p.width, three), rows(s, p.width, three), 8*i)
			}
			ADDQ(U32(4*64), w)
			ADDQ(Imm(16), p.a)
		})
	}
	JNZ(LabelRef("apart")) // the flag of reaches: moves do not change flags
	steps("together", func(w Mem, a, signs [tokens]Mem, k int) { together(ones, w, a, signs, k, sums) })
	JMP(LabelRef("finish"))
	steps("apart", func(w Mem, a, signs [tokens]Mem, k int) {
		apart(ones, w, a, signs, k, sums)
		apart(ones, w.Offset(64), a, signs, k+4, sums)
	})

	Label("finish")
	each, to := m.vector(), GP64()
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

// reaches clears the zero flag if the sum of two pairs may overflow 16 bits. By Cauchy and Schwarz it does not if the
// square sum of the four activations times that of the four weights is at most 32767^2. Both are stored in 16 bits, the
// largest of the tokens and the rows.
func (p product) reaches(done Register) {
	reach, bounds, k := GP64(), pointer("bounds"), GP64()
	MOVQ(done, reach)
	IMULQ(p.width, reach)
	SHRQ(Imm(4), reach)
	ADDQ(Load(Param("reach"), GP64()), reach)
	MOVQ(p.width, k)
	top := YMM()
	VPXOR(top, top, top)
	loop("reach", k, 32, func() {
		product := YMM()
		VMOVDQU(Mem{Base: reach}, product)
		VPMULHUW(Mem{Base: bounds}, product, product)
		VPMAXUW(product, top, top)
		ADDQ(Imm(32), reach)
		ADDQ(Imm(32), bounds)
	})
	VPSUBUSW(bits(func(int) uint32 { return 16382<<16 | 16382 }), top, top)
	VPTEST(top, top)
}

// together adds eight k. Weights are read from memory, because registers are scarce.
func together(ones Register, weights Mem, a, signs [tokens]Mem, k int, sums [tokens][]VecVirtual) {
	for t := range tokens {
		var four, sign [2]VecVirtual
		for j := range four {
			four[j], sign[j] = YMM(), YMM()
			VPBROADCASTD(a[t].Offset(k+4*j), four[j])
			VPBROADCASTD(signs[t].Offset(k+4*j), sign[j])
		}
		for i, sum := range sums[t] {
			var pairs [2]VecVirtual
			for j := range pairs {
				pairs[j] = YMM()
				VPXOR(weights.Offset(64*j+32*i), sign[j], pairs[j])
				VPMADDUBSW(pairs[j], four[j], pairs[j])
			}
			VPADDW(pairs[0], pairs[1], pairs[0])
			VPMADDWD(ones, pairs[0], pairs[0])
			VPADDD(pairs[0], sum, sum)
		}
	}
}

// apart adds four k.
func apart(ones Register, weights Mem, a, signs [tokens]Mem, k int, sums [tokens][]VecVirtual) {
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
