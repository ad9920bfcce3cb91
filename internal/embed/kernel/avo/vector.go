package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// power are the coefficients of 2^f for f within a half of 0, from the highest. The last one, 1, is left out (see exp2
// in package kernel).
var power = []float32{0.001326472731307149, 0.009671512991189957, 0.05550733581185341, 0.24022242426872253,
	0.6931470036506653}

// least is where exp2 ends: the exponent of what is smaller has no room.
const least = -125

// A lockstep is some registers. Every step is applied to all before the next one, so that the processor finds
// independent steps side by side.
type lockstep []VecVirtual

func (l lockstep) each(step func(i int, v VecVirtual)) {
	for i, v := range l {
		step(i, v)
	}
}

// horner makes each p, which is the first coefficient, the polynomial of x.
func horner(p, x lockstep, coefficients ...float32) {
	for _, c := range coefficients {
		p.each(func(i int, p VecVirtual) { VFMADD213PS(constant(c), x[i], p) })
	}
}

func newLockstep(n int) lockstep { return registers(n) }

// all returns n registers of x.
func all(n int, x float32) lockstep {
	l := newLockstep(n)
	l.each(func(_ int, v VecVirtual) { VMOVUPS(constant(x), v) })
	return l
}

// exp2 replaces each y, at most 0, by 2^y. y is n and a rest within a half. The power of the rest is a polynomial, to
// whose exponent n is added. The sum with 1.5 x 2^23 has no bits for a fraction, and its lowest bits are n.
func exp2(y lockstep) {
	n, rest := newLockstep(len(y)), newLockstep(len(y))
	y.each(func(_ int, y VecVirtual) { VMAXPS(constant(least), y, y) })
	y.each(func(i int, y VecVirtual) { VADDPS(constant(3<<22), y, n[i]) })
	y.each(func(i int, _ VecVirtual) { VSUBPS(constant(3<<22), n[i], rest[i]) })
	y.each(func(i int, y VecVirtual) { VSUBPS(rest[i], y, rest[i]) })
	y.each(func(_ int, y VecVirtual) { VMOVUPS(constant(power[0]), y) })
	horner(y, rest, power[1:]...)
	horner(y, rest, 1)
	y.each(func(i int, _ VecVirtual) { VPSLLD(Imm(23), n[i], n[i]) })
	y.each(func(i int, y VecVirtual) { VPADDD(n[i], y, y) })
}

// gelu computes (x + x erf(x/sqrt 2)) / 2, as geluGo does.
func gelu() {
	text("geluAVX2", "func(dst, x *float32, n int)", "writes the GELU of n values, a multiple of 32.")
	dst, x, n := pointer("dst"), pointer("x"), pointer("n")
	loop("values", n, 2*size/4, func() {
		geluOf(Mem{Base: dst}, Mem{Base: x})
		ADDQ(U32(uint32(2*size)), x)
		ADDQ(U32(uint32(2*size)), dst)
	})
	end()
}

// bell are the coefficients of erf(x/sqrt 2)/x as a polynomial of 2/25 x^2 - 1, from
// the highest (see bell in package kernel).
var bell = []float32{0.0012174296, -0.0032265205, 0.003445669, -0.005371175, 0.012820947, -0.022328656, 0.032804385,
	-0.046537314, 0.06288434, -0.08088522, 0.103041045, -0.14059256, 0.28272763}

// edge is from where on erf(x/sqrt 2) is 1.
const edge = 5

// geluOf takes two registers of values.
func geluOf(to, at Mem) {
	half, x, s := newLockstep(2), newLockstep(2), newLockstep(2)
	half.each(func(i int, h VecVirtual) { VMOVUPS(at.Offset(i*size), h) })
	x.each(func(i int, x VecVirtual) { VMINPS(constant(edge), half[i], x) })
	x.each(func(_ int, x VecVirtual) { VMAXPS(constant(-edge), x, x) })
	s.each(func(i int, s VecVirtual) { VMULPS(x[i], x[i], s) })
	t := all(2, 2./(edge*edge))
	horner(t, s, -1)
	p := all(2, bell[0])
	horner(p, t, bell[1:]...)
	p.each(func(i int, p VecVirtual) { VMULPS(x[i], p, p) })
	half.each(func(_ int, h VecVirtual) { VMULPS(constant(.5), h, h) })
	p.each(func(i int, p VecVirtual) { VFMADD213PS(half[i], half[i], p) })
	p.each(func(i int, p VecVirtual) { VMOVUPS(p, to.Offset(i*size)) })
}

// addNorm takes one row, in three passes: the sum, the squares of the distances to the mean, the result.
func addNorm() {
	text("addNormAVX2", "func(x, residual, gamma, beta *float32, n int, eps float32)",
		"replaces a row of n values, a multiple of sixteen, by the layer norm of its sum with the residual.")
	x, residual, n := pointer("x"), pointer("residual"), pointer("n")
	count, length := GP64(), XMM()
	VCVTSI2SSQ(n, length, length)
	at := GP64()

	each := func(label string, body func(i int, at Mem)) {
		MOVQ(n, count)
		XORQ(at, at)
		loop(label, count, 16, func() {
			for i := range parts {
				body(i, Mem{Disp: i * size, Index: at, Scale: 1})
			}
			ADDQ(Imm(64), at)
		})
	}
	of := func(base Register, at Mem) Mem {
		at.Base = base
		return at
	}
	sums := func(label string, body func(i int, at Mem, sum VecVirtual)) Register {
		sum := registers(parts)
		for _, s := range sum {
			setZero(s)
		}
		each(label, func(i int, at Mem) { body(i, at, sum[i]) })
		return reduce(sum, add)
	}

	total := sums("sum", func(_ int, at Mem, sum VecVirtual) {
		v := YMM()
		VMOVUPS(of(x, at), v)
		VADDPS(of(residual, at), v, v)
		VMOVUPS(v, of(x, at))
		VADDPS(v, sum, sum)
	})
	mean := YMM()
	VDIVSS(length, total, total)
	VBROADCASTSS(total, mean)
	squares := sums("square", func(_ int, at Mem, sum VecVirtual) {
		v := YMM()
		VMOVUPS(of(x, at), v)
		VSUBPS(mean, v, v)
		VMOVUPS(v, of(x, at))
		VFMADD231PS(v, v, sum)
	})
	factor, one := YMM(), XMM()
	VDIVSS(length, squares, squares)
	VADDSS(NewParamAddr("eps", 40), squares, squares)
	VSQRTSS(squares, squares, squares)
	VMOVSS(constant(1), one)
	VDIVSS(squares, one, one)
	VBROADCASTSS(one, factor)
	gamma, beta := pointer("gamma"), pointer("beta")
	each("result", func(_ int, at Mem) {
		v := YMM()
		VMULPS(of(x, at), factor, v)
		b := YMM()
		VMOVUPS(of(beta, at), b)
		VFMADD132PS(of(gamma, at), b, v)
		VMOVUPS(v, of(x, at))
	})
	end()
}
