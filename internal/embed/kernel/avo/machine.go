package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A machine is the target of a kernel.
type machine struct {
	suffix string
	wide   bool // AVX-512: registers of sixteen lanes
}

// size returns the width of a register in bytes.
func (m machine) size() int {
	if m.wide {
		return 64
	}
	return 32
}

// parts returns the number of registers for sixteen lanes.
func (m machine) parts() int { return 64 / m.size() }

func (m machine) vector() VecVirtual {
	if m.wide {
		return ZMM()
	}
	return YMM()
}

func (m machine) vectors(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = m.vector()
	}
	return v
}

func (m machine) zero(v VecVirtual) {
	if m.wide {
		VPXORD(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
}

func (m machine) and(mask Op, a, to Op) {
	if m.wide {
		VPANDD(mask, a, to)
	} else {
		VANDPS(mask, a, to)
	}
}

// text begins a function.
func (m machine) text(name, signature, doc string) {
	clear(holds)
	TEXT(name+m.suffix, 0b100, signature) // NOSPLIT
	Pragma("noescape")
	Doc(name + m.suffix + " " + doc)
}

func end() {
	VZEROUPPER()
	RET()
}

func pointer(name string) Register { return Load(Param(name), GP64()) }

// shared are the constants made so far: one full row of lanes each, as a memory operand of either width.
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

// holds are the constants in registers of the current function.
var holds = map[Mem]VecVirtual{}

// hold loads constants into registers where there are 32 of those. A wide operand in
// memory would cross a border of cache lines, as the linker aligns to 32 bytes at most.
func (m machine) hold(constants ...Mem) {
	for _, c := range constants {
		if _, twice := holds[c]; m.wide && !twice {
			holds[c] = ZMM()
			VMOVUPS(c, holds[c])
		}
	}
}

// held returns the register of a constant, or its address in memory.
func (m machine) held(constant Mem) Op {
	if v, is := holds[constant]; is {
		return v
	}
	return constant
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
func (m machine) reduce(parts []VecVirtual, combine func(a, b, to Op)) Register {
	eight := YMM()
	if m.wide {
		VEXTRACTF64X4(Imm(1), parts[0], eight)
		combine(eight, parts[0].AsY(), eight)
	} else {
		combine(parts[1], parts[0], eight)
	}
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
