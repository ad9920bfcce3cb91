package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Sixteen lanes of float32 are parts registers of AVX2, each of size bytes.
const (
	size  = 32
	parts = 2
)

// registers returns n registers of AVX2.
func registers(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = YMM()
	}
	return v
}

// wideRegisters returns n registers of AVX-512.
func wideRegisters(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = ZMM()
	}
	return v
}

func setZero(v VecVirtual) { VXORPS(v, v, v) }

// text begins a function.
func text(name, signature, doc string) {
	TEXT(name, 0b100, signature) // NOSPLIT
	Pragma("noescape")
	Doc(name + " " + doc)
}

func end() {
	VZEROUPPER()
	RET()
}

func pointer(name string) Register { return Load(Param(name), GP64()) }

// shared are the constants made so far: one full row of lanes each, as a memory operand.
var shared = map[[16]uint32]Mem{}

// bits returns sixteen lanes of these bits.
func bits(lane func(i int) uint32) Mem {
	var key [16]uint32
	for i := range key {
		key[i] = lane(i)
	}
	if mem, made := shared[key]; made {
		return mem
	}
	mem := GLOBL(fmt.Sprintf("lanes%d", len(shared)), 0b11000) // RODATA, NOPTR
	for i, b := range key {
		DATA(4*i, U32(b))
	}
	shared[key] = mem
	return mem
}

// constant returns sixteen lanes of x.
func constant(x float32) Mem {
	return bits(func(int) uint32 { return math.Float32bits(x) })
}

// signs returns -1 in the lanes whose number has this bit, and 1 in the others.
func signs(bit int) Mem {
	return bits(func(i int) uint32 {
		if i&bit != 0 {
			return math.Float32bits(-1)
		}
		return math.Float32bits(1)
	})
}

// magnitude masks the sign away.
func magnitude() Mem { return bits(func(int) uint32 { return 0x7fffffff }) }

// reduce combines the sixteen lanes of parts into the first lane of an XMM
// register: lane i with i+8, then i+4, i+2, i+1.
func reduce(parts []VecVirtual, combine func(a, b, to Op)) Register {
	eight := YMM()
	combine(parts[1], parts[0], eight)
	four, two, one := XMM(), XMM(), XMM()
	VEXTRACTF128(Imm(1), eight, four)
	combine(four, eight.AsX(), four)
	VMOVHLPS(four, four, two)
	combine(two, four, two)
	VMOVSHDUP(two, one)
	combine(one, two, one)
	return one
}

func add(a, b, to Op)     { VADDPS(a, b, to) }
func largest(a, b, to Op) { VMAXPS(a, b, to) }

// loop runs body until n, a multiple of step, is counted down to zero. n is at least step.
func loop(label string, n Register, step int, body func()) {
	Label(label)
	body()
	SUBQ(U32(uint32(step)), n)
	JNZ(LabelRef(label))
}
