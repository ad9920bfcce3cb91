package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// power are the coefficients of 2^f for f within a half of 0, from the highest, with
// the last one left out, which is 1 (see exp2 in package kernel).
var power = []float32{0.001326472731307149, 0.009671512991189957, 0.05550733581185341, 0.24022242426872253, 0.6931470036506653}

// least is where exp2 ends: the exponent of what is smaller has no room.
const least = -125

// exp2 replaces y, at most 0, by 2^y: y is n and a rest within a half; the rest's
// power is a polynomial, to whose exponent n is added. The sum with 1.5 x 2^23 has no
// room for a fraction, and its lowest bits are n.
func (m machine) exp2(y VecVirtual) {
	n, rest, p := m.vector(), m.vector(), m.vector()
	VMAXPS(constant(least), y, y)
	VADDPS(constant(3<<22), y, n)
	VSUBPS(constant(3<<22), n, rest)
	VSUBPS(rest, y, rest)
	VMOVUPS(constant(power[0]), p)
	for _, c := range power[1:] {
		VFMADD213PS(constant(c), rest, p)
	}
	VFMADD213PS(constant(1), rest, p)
	VPSLLD(Imm(23), n, n)
	VPADDD(n, p, y)
}

// gelu computes (x + |x| erf(|x|/sqrt 2)) / 2.
func (m machine) gelu() {
	m.text("gelu", "func(x *float32, n int)", "replaces n values, a multiple of sixteen, by their GELU.")
	x, n := pointer("x"), pointer("n")
	loop("values", n, 16, func() {
		for i := range m.parts() {
			m.geluOf(Mem{Base: x, Disp: i * m.size()})
		}
		ADDQ(Imm(64), x)
	})
	end()
}

func (m machine) geluOf(at Mem) {
	x, size, e, t, p := m.vector(), m.vector(), m.vector(), m.vector(), m.vector()
	VMOVUPS(at, x)
	m.and(magnitude(), x, size)
	VMULPS(x, x, e)
	VMULPS(constant(-math.Log2E/2), e, e)
	m.exp2(e)
	VMOVUPS(constant(0.3275911/math.Sqrt2), t)
	VFMADD213PS(constant(1), size, t)
	VMOVUPS(constant(1), p)
	VDIVPS(t, p, t)
	VMOVUPS(constant(1.061405429), p)
	for _, c := range []float32{-1.453152027, 1.421413741, -0.284496736, 0.254829592} {
		VFMADD213PS(constant(c), t, p)
	}
	VMULPS(t, p, p)
	VFNMADD213PS(constant(1), p, e) // erf = 1 - p e
	VFMADD213PS(x, size, e)
	VMULPS(constant(.5), e, e)
	VMOVUPS(e, at)
}

// addNorm takes one row, in three passes: the sum, the squares of the distances to
// the mean, the result.
func (m machine) addNorm() {
	m.text("addNorm", "func(x, residual, gamma, beta *float32, n int, eps float32)",
		"replaces a row of n values, a multiple of sixteen, by the layer norm of its sum with the residual.")
	x, residual, n := pointer("x"), pointer("residual"), pointer("n")
	count, size := GP64(), XMM()
	VCVTSI2SSQ(n, size, size)
	at := GP64()

	each := func(label string, body func(i int, at Mem)) {
		MOVQ(n, count)
		XORQ(at, at)
		loop(label, count, 16, func() {
			for i := range m.parts() {
				body(i, Mem{Disp: i * m.size(), Index: at, Scale: 1})
			}
			ADDQ(Imm(64), at)
		})
	}
	of := func(base Register, at Mem) Mem {
		at.Base = base
		return at
	}
	sums := func(label string, body func(i int, at Mem, sum VecVirtual)) Register {
		sum := m.vectors(m.parts())
		for _, s := range sum {
			m.zero(s)
		}
		each(label, func(i int, at Mem) { body(i, at, sum[i]) })
		return m.fold(sum, add)
	}

	total := sums("sum", func(_ int, at Mem, sum VecVirtual) {
		v := m.vector()
		VMOVUPS(of(x, at), v)
		VADDPS(of(residual, at), v, v)
		VMOVUPS(v, of(x, at))
		VADDPS(v, sum, sum)
	})
	mean := m.vector()
	VDIVSS(size, total, total)
	VBROADCASTSS(total, mean)
	squares := sums("square", func(_ int, at Mem, sum VecVirtual) {
		v := m.vector()
		VMOVUPS(of(x, at), v)
		VSUBPS(mean, v, v)
		VMOVUPS(v, of(x, at))
		VFMADD231PS(v, v, sum)
	})
	factor, one := m.vector(), XMM()
	VDIVSS(size, squares, squares)
	VADDSS(NewParamAddr("eps", 40), squares, squares)
	VSQRTSS(squares, squares, squares)
	VMOVSS(constant(1), one)
	VDIVSS(squares, one, one)
	VBROADCASTSS(one, factor)
	gamma, beta := pointer("gamma"), pointer("beta")
	each("result", func(_ int, at Mem) {
		v := m.vector()
		VMULPS(of(x, at), factor, v)
		b := m.vector()
		VMOVUPS(of(beta, at), b)
		VFMADD132PS(of(gamma, at), b, v)
		VMOVUPS(v, of(x, at))
	})
	end()
}
