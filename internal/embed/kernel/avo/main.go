// Command avo writes the assembly of package kernel and its Go declarations. It is a module of its own, so that Loci
// does not depend on the assembler.
//
//	go run . -out ../simd_amd64.s -stubs ../simd_amd64.go -pkg kernel
//
// Products and the rounding of their inputs have two variants, for AVX-512 VNNI and for AVX2, because the sums of the
// former are integers of four products. Float kernels are for AVX2 alone, in rows of sixteen lanes: with AVX-512 a text
// takes a tenth less time at most.
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
	rotate()
	gelu()
	addNorm()
	score()
	softmax()
	mix()
	Generate()
}
