package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	depth  = 32             // of a head
	qkvRow = 3 * 384 * 4    // bytes
	outRow = 384 * 4        // bytes
	headV  = 2 * 384 * 4    // bytes from Q to V
	headK  = 384 * 4        // bytes from Q to K
	root   = math.Sqrt2 * 4 // of the depth
)

// transpose prepares a head.
func transpose() {
	TEXT("transposeAVX2", 0b100, "func(keys, values, qkv *float32, tokens, stride int)")
	Pragma("noescape")
	Doc("transposeAVX2 writes the keys of a head as rows of one dimension, stride values apart, and its values as " +
		"rows of 32 without a gap. tokens is a multiple of four; qkv begins at the head's Q.")
	keys, values, qkv := pointer("keys"), pointer("values"), pointer("qkv")
	n, stride := pointer("tokens"), pointer("stride")
	SHLQ(Imm(2), stride)
	loop("four", n, 4, func() {
		to := GP64()
		MOVQ(keys, to)
		for at := 0; at < depth; at += 8 {
			transposeFour(to, stride, Mem{Base: qkv, Disp: headK + 4*at})
		}
		for t := range 4 {
			for at := 0; at < depth*4; at += 32 {
				v := YMM()
				VMOVUPS(Mem{Base: qkv, Disp: headV + t*qkvRow + at}, v)
				VMOVUPS(v, Mem{Base: values, Disp: t*depth*4 + at})
			}
		}
		ADDQ(U32(4*qkvRow), qkv)
		ADDQ(U32(4*depth*4), values)
		ADDQ(Imm(16), keys)
	})
	end()
}

// transposeFour writes eight dimensions of four keys; to ends eight rows further.
func transposeFour(to, stride Register, from Mem) {
	var v, low, high [4]VecVirtual
	for i := range v {
		v[i], low[i], high[i] = YMM(), YMM(), YMM()
		VMOVUPS(from.Offset(i*qkvRow), v[i])
	}
	VUNPCKLPS(v[1], v[0], low[0])
	VUNPCKLPS(v[3], v[2], low[1])
	VUNPCKHPS(v[1], v[0], high[0])
	VUNPCKHPS(v[3], v[2], high[1])
	VUNPCKLPD(low[1], low[0], v[0]) // dimensions 0 and 4 of the eight
	VUNPCKHPD(low[1], low[0], v[1])
	VUNPCKLPD(high[1], high[0], v[2])
	VUNPCKHPD(high[1], high[0], v[3])
	for _, d := range v {
		VMOVUPS(d.AsX(), Mem{Base: to})
		ADDQ(stride, to)
	}
	for _, d := range v {
		VEXTRACTF128(Imm(1), d, Mem{Base: to})
		ADDQ(stride, to)
	}
}

// score multiplies four queries with all keys. The sums start at the mask, and lanes
// are keys: each adds its dimensions one by one.
func score() {
	text("scoreAVX2", "func(scores, q, keys, mask *float32, n int)",
		"writes the products of four queries with n keys, a multiple of sixteen, plus the mask. Scores have rows of "+
			"n, keys are as transposed.")
	scores, q, keys, mask, n := pointer("scores"), pointer("q"), pointer("keys"), pointer("mask"), pointer("n")
	stride := GP64()
	MOVQ(n, stride)
	SHLQ(Imm(2), stride)
	tiles := []int{3, 2, 1} // registers of keys, by four queries: as many as fit
	for i, parts := range tiles {
		tile, next := fmt.Sprint("tile", parts), fmt.Sprint("less", parts)
		Label(tile)
		CMPQ(n, U32(uint32(parts*size/4)))
		JL(LabelRef(next))
		scoreTile(scores, q, keys, mask, stride, parts)
		SUBQ(U32(uint32(parts*size/4)), n)
		if i+1 < len(tiles) {
			JMP(LabelRef(tile))
		} else {
			JNZ(LabelRef(tile))
		}
		Label(next)
	}
	end()
}

func scoreTile(scores, q, keys, mask, stride Register, parts int) {
	var sums [tokens][]VecVirtual
	for t := range sums {
		sums[t] = registers(parts)
		for i := range sums[t] {
			VMOVUPS(Mem{Base: mask, Disp: i * size}, sums[t][i])
		}
	}
	from, to := GP64(), GP64()
	MOVQ(keys, from)
	for d := range depth {
		k := registers(parts)
		for i := range k {
			VMOVUPS(Mem{Base: from, Disp: i * size}, k[i])
		}
		for t := range tokens {
			one := YMM()
			VBROADCASTSS(Mem{Base: q, Disp: t*qkvRow + 4*d}, one)
			for i := range k {
				VFMADD231PS(k[i], one, sums[t][i])
			}
		}
		if d+1 < depth {
			ADDQ(stride, from)
		}
	}
	MOVQ(scores, to)
	for t := range tokens {
		for i := range sums[t] {
			VMOVUPS(sums[t][i], Mem{Base: to, Disp: i * size})
		}
		if t+1 < tokens {
			ADDQ(stride, to)
		}
	}
	step := U32(uint32(parts * size))
	ADDQ(step, scores)
	ADDQ(step, keys)
	ADDQ(step, mask)
}

// softmax looks at two rows at a time: first for the largest of each, then for the exponentials.
func softmax() {
	text("softmaxAVX2", "func(scores, inverse *float32, n int)",
		"replaces four rows of n scores, a multiple of sixteen, by the exponentials of their distances to the largest "+
			"of the row, divided by the root of 32, and writes the inverse of their sum.")
	scores, inverse, n := pointer("scores"), pointer("inverse"), pointer("n")
	stride := GP64()
	MOVQ(n, stride)
	SHLQ(Imm(2), stride)
	three, left := triple(stride), GP64()
	MOVQ(U32(uint32(tokens*16/size)), left)
	loop("rows", left, 1, func() {
		softmaxOf(rows(scores, stride, three), inverse, n)
		LEAQ(Mem{Base: scores, Index: stride, Scale: 1}, scores)
		ADDQ(U32(uint32(size/4)), inverse)
	})
	end()
}

// softmaxOf takes as many rows as a register has parts of sixteen bytes, and moves scores to the end of the first.
func softmaxOf(row [tokens]Mem, inverse, n Register) {
	count, at, side := GP64(), row[0].Base, size/16
	begin := GP64()
	MOVQ(at, begin)
	MOVQ(n, count)
	top := make([][]VecVirtual, side)
	for r := range top {
		top[r] = registers(parts)
		for i, t := range top[r] {
			VMOVUPS(row[r].Offset(i*size), t)
		}
	}
	loop("top", count, 16, func() {
		for r := range top {
			for i, t := range top[r] {
				VMAXPS(row[r].Offset(i*size), t, t)
			}
		}
		ADDQ(Imm(64), at)
	})
	most := newLockstep(side)
	most.each(func(r int, v VecVirtual) { VBROADCASTSS(reduce(top[r], largest), v) })

	sum := make([][]VecVirtual, side)
	for r := range sum {
		sum[r] = registers(parts)
		for _, s := range sum[r] {
			setZero(s)
		}
	}
	MOVQ(n, count)
	MOVQ(begin, at)
	loop("power", count, 16, func() {
		for i := range parts {
			y := newLockstep(side)
			y.each(func(r int, y VecVirtual) { VMOVUPS(row[r].Offset(i*size), y) })
			y.each(func(r int, y VecVirtual) { VSUBPS(most[r], y, y) })
			y.each(func(_ int, y VecVirtual) { VMULPS(constant(math.Log2E/root), y, y) })
			exp2(y)
			y.each(func(r int, y VecVirtual) { VMOVUPS(y, row[r].Offset(i*size)) })
			y.each(func(r int, y VecVirtual) { VADDPS(y, sum[r][i], sum[r][i]) })
		}
		ADDQ(Imm(64), at)
	})
	for r := range sum {
		one := XMM()
		VMOVSS(constant(1), one)
		VDIVSS(reduce(sum[r], add), one, one)
		VMOVSS(one, Mem{Base: inverse, Disp: 4 * r})
	}
}
