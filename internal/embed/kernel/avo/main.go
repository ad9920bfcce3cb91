// Command avo writes the assembly of package kernel and its Go declarations. It is a module of its own, so that Loci
// does not depend on the assembler.
//
//	go run . -out ../simd_amd64.s -stubs ../simd_amd64.go -pkg kernel
//
// Float kernels are written once, in rows of sixteen lanes. They are printed for AVX2, where a row is two registers,
// and for AVX-512, where it is one. Lanes see the same operations in the same order in both, and sums over lanes are
// reduced alike. So both give the same bits.
package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	ConstraintExpr("amd64")
	mulVNNI()
	mulAVX2()
	store512()
	store2()
	transpose()
	for _, m := range []machine{{suffix: "AVX2"}, {suffix: "AVX512", wide: true}} {
		m.rotate()
		m.gelu()
		m.addNorm()
		m.score()
		m.softmax()
		m.mix()
	}
	Generate()
}
