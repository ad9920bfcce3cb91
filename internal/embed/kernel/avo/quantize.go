package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const block = 128 * 4 // bytes of a Hadamard block

// rotate computes the fast Walsh-Hadamard transform of blocks of 128. Stages of 64 to 8 are between
// registers, the others within them.
func rotate() {
	text("rotateAVX2", "func(dst, x *float32, blocks int) float32",
		"writes the transform of blocks of 128 without its factor, and returns the largest magnitude.")
	dst, x, blocks := pointer("dst"), pointer("x"), pointer("blocks")
	top := registers(parts)
	for _, t := range top {
		setZero(t)
	}
	loop("block", blocks, 1, func() {
		rotateHalf(dst, x, 0, VADDPS, top)
		rotateHalf(dst, x, block/2, VSUBPS, top)
		ADDQ(U32(block), x)
		ADDQ(U32(block), dst)
	})
	VMOVSS(reduce(top, largest), NewParamAddr("ret", 24))
	end()
}

// rotateHalf makes one half of a block: the first stage by op, from memory.
func rotateHalf(dst, x Register, at int, op func(...Op), top []VecVirtual) {
	v := registers(8)
	for i := range v {
		VMOVUPS(Mem{Base: x, Disp: 32 * i}, v[i])
		op(Mem{Base: x, Disp: block/2 + 32*i}, v[i], v[i])
	}
	between(v, 4, 2, 1)
	for i := range v {
		v[i] = within(v[i])
		keep(Mem{Base: dst, Disp: at + 32*i}, v[i], top[i%2])
	}
}

// between makes the stages between registers that are these distances apart.
func between(v []VecVirtual, distances ...int) {
	for _, d := range distances {
		for i := range v {
			if i&d == 0 {
				sum := YMM()
				VADDPS(v[i+d], v[i], sum)
				VSUBPS(v[i+d], v[i], v[i+d])
				v[i] = sum
			}
		}
	}
}

// within makes the stages within a register. To each lane its neighbor is added, or it is subtracted from the neighbor;
// a product with 1 or -1 is exact.
func within(v VecVirtual) VecVirtual {
	for bit := size / 8; bit > 0; bit /= 2 {
		other := YMM()
		switch bit {
		case 4:
			VPERM2F128(Imm(1), v, v, other)
		case 2:
			VPERMILPS(Imm(0x4e), v, other)
		case 1:
			VPERMILPS(Imm(0xb1), v, other)
		}
		VFMADD231PS(signs(bit), v, other)
		v = other
	}
	return v
}

func keep(to Mem, v, top VecVirtual) {
	VMOVUPS(v, to)
	VANDPS(magnitude(), v, v)
	VMAXPS(v, top, top)
}

// store512 rounds to the nearest integer, as the mode of the machine is.
func store512() {
	text("storeAVX512VNNI", "func(dst *byte, x *float32, n int, step float32)",
		"writes n values times step, rounded, plus 128.")
	dst, x, n := pointer("dst"), pointer("x"), pointer("n")
	step, flip := ZMM(), YMM()
	VBROADCASTSS(NewParamAddr("step", 24), step)
	VPCMPEQB(flip, flip, flip)
	VPSLLW(Imm(7), flip, flip)
	VPACKSSWB(flip, flip, flip)
	loop("values", n, 64, func() {
		for i := range 4 {
			v := ZMM()
			VMULPS(Mem{Base: x, Disp: 64 * i}, step, v)
			VCVTPS2DQ(v, v)
			VPMOVDB(v, v.AsX())
			VPXOR(flip.AsX(), v.AsX(), v.AsX())
			VMOVDQU(v.AsX(), Mem{Base: dst, Disp: 16 * i})
		}
		ADDQ(U32(256), x)
		ADDQ(Imm(64), dst)
	})
	end()
}

func store2() {
	text("storeAVX2", "func(dst, signs *byte, x *float32, n int, step float32) int32",
		"writes the magnitudes of n values times step, rounded, and 255 for each that is negative, 0 for the others, "+
			"and returns the sum of the magnitudes of the negative ones.")
	dst, neg, x, n := pointer("dst"), pointer("signs"), pointer("x"), pointer("n")
	step, sum, zero := YMM(), YMM(), YMM()
	VBROADCASTSS(NewParamAddr("step", 32), step)
	setZero(sum)
	setZero(zero)
	order := GLOBL("order", 0b11000)
	for i, lane := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, U32(lane))
	}
	loop("values", n, 32, func() {
		v := registers(4)
		for i := range v {
			VMULPS(Mem{Base: x, Disp: 32 * i}, step, v[i])
			VCVTPS2DQ(v[i], v[i])
		}
		VPACKSSDW(v[1], v[0], v[0])
		VPACKSSDW(v[3], v[2], v[2])
		VPACKSSWB(v[2], v[0], v[0])
		VMOVDQU(order, v[1])
		VPERMD(v[0], v[1], v[0])
		VPCMPGTB(v[0], zero, v[1])
		VMOVDQU(v[1], Mem{Base: neg})
		VPABSB(v[0], v[0])
		VMOVDQU(v[0], Mem{Base: dst})
		VPAND(v[0], v[1], v[1])
		VPSADBW(v[1], zero, v[1])
		VPADDD(v[1], sum, sum)
		ADDQ(U32(128), x)
		ADDQ(Imm(32), dst)
		ADDQ(Imm(32), neg)
	})
	total := reduce([]VecVirtual{sum, zero}, func(a, b, to Op) { VPADDD(a, b, to) })
	out := GP32()
	VMOVD(total, out)
	Store(out, ReturnIndex(0))
	end()
}
