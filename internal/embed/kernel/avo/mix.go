package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// mix adds the values by the weights of some queries. Lanes are dimensions, and each adds the values one by one. A tile
// has as many queries as registers can hold sums of: three, or two if two or four are left.
func mix() {
	text("mixAVX2", "func(dst, weights, inverse, values *float32, n, stride, queries int)",
		"writes the sums of n values by the weights of queries, a multiple of four, whose rows are stride apart, "+
			"times the inverse.")
	x := mixing{dst: pointer("dst"), weights: pointer("weights"), inverse: pointer("inverse"),
		stride: pointer("stride")}
	SHLQ(Imm(2), x.stride)
	x.three = triple(x.stride)
	left := pointer("queries")
	Label("tile")
	for _, few := range []uint64{2, 4} {
		CMPQ(left, Imm(few))
		JEQ(LabelRef("few"))
	}
	x.tile("three", 3)
	SUBQ(Imm(3), left)
	JNZ(LabelRef("tile"))
	end()
	Label("few")
	x.tile("two", 2)
	SUBQ(Imm(2), left)
	JNZ(LabelRef("few"))
	end()
}

// mixing is the start of the next tile.
type mixing struct {
	dst, weights, inverse Register
	stride, three         Register
}

func (m mixing) tile(label string, queries int) {
	sums := make([][]VecVirtual, queries)
	for q := range sums {
		sums[q] = registers(depth * 4 / size)
		for _, s := range sums[q] {
			setZero(s)
		}
	}
	w, v, n := GP64(), pointer("values"), pointer("n")
	MOVQ(m.weights, w)
	loop(label, n, 1, func() {
		m.value(rows(w, m.stride, m.three), v, sums)
		ADDQ(Imm(4), w)
		ADDQ(U32(depth*4), v)
	})
	factor := YMM()
	for q := range sums {
		VBROADCASTSS(Mem{Base: m.inverse, Disp: 4 * q}, factor)
		for i, s := range sums[q] {
			VMULPS(factor, s, s)
			VMOVUPS(s, Mem{Base: m.dst, Disp: q*outRow + i*size})
		}
	}
	ADDQ(U32(uint32(queries*outRow)), m.dst)
	ADDQ(Imm(uint64(4*queries)), m.inverse)
	for range queries {
		ADDQ(m.stride, m.weights)
	}
}

// value adds one value to all sums.
func (m mixing) value(weights [tokens]Mem, from Register, sums [][]VecVirtual) {
	one := registers(len(sums))
	for q := range sums {
		VBROADCASTSS(weights[q], one[q])
	}
	for i := range sums[0] {
		value := YMM()
		VMOVUPS(Mem{Base: from, Disp: i * size}, value)
		for q := range sums {
			VFMADD231PS(value, one[q], sums[q][i])
		}
	}
}
