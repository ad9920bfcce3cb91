package kernel

import (
	"fmt"
	"math"
)

// AddNorm replaces x by its layer norm. Each row of x+residual less its mean is divided by the root of its variance
// plus eps, times gamma, plus beta. x and residual are [tokens][len(gamma)]; len(gamma) is a multiple of 32.
func (v *Variant) AddNorm(x, residual, gamma, beta []float32, eps float32) {
	width := len(gamma)
	if width%16 != 0 {
		panic(fmt.Sprintf("kernel: a row of %d values", width))
	}
	beta = beta[:width]
	for at := 0; at < len(x); at += width {
		v.addNorm(x[at:at+width], residual[at:at+width], gamma, beta, eps)
	}
}

// Dequantize writes a row of an embedding table, times its scale, to dst, which is as long as the row.
func Dequantize(dst []float32, row []int8, scale float32) {
	dst = dst[:len(row)]
	for i, v := range row {
		dst[i] = float32(v) * scale
	}
}

// Mean writes the mean of the first tokens rows of x to dst; rows are as long as dst.
func Mean(dst, x []float32, tokens int) {
	clear(dst)
	for t := range tokens {
		for i, v := range x[t*len(dst):][:len(dst)] {
			dst[i] += v
		}
	}
	factor := 1 / float32(tokens)
	for i := range dst {
		dst[i] *= factor
	}
}

// Normalize divides x by its length; what has none stays as it is.
func Normalize(x []float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	if sum == 0 {
		return
	}
	factor := 1 / math.Sqrt(sum)
	for i, v := range x {
		x[i] = float32(float64(v) * factor)
	}
}

func addNormGo(x, residual, gamma, beta []float32, eps float32) {
	sum := float32(0)
	for i, r := range residual[:len(x)] {
		x[i] += r
		sum += x[i]
	}
	mean := sum / float32(len(x))
	sum = 0
	for i, v := range x {
		x[i] = v - mean
		sum += x[i] * x[i]
	}
	factor := 1 / float32(math.Sqrt(float64(sum/float32(len(x))+eps)))
	for i, v := range x {
		x[i] = v*factor*gamma[i] + beta[i]
	}
}

// erfCoefficients are the coefficients of erf(x/sqrt 2)/x as a polynomial of s = 2/25 x^2 - 1, from the highest. It is
// the polynomial of degree 12 with the smallest error of erf between -5 and 5, by Lawson's algorithm. It is shifted by
// less than that error to be 1 at 5, as erf is.
var erfCoefficients = [...]float32{0.0012174296, -0.0032265205, 0.003445669, -0.005371175, 0.012820947, -0.022328656,
	0.032804385,
	-0.046537314, 0.06288434, -0.08088522, 0.103041045, -0.14059256, 0.28272763}

// erfLimit is from where on erf(x/sqrt 2) is 1.
const erfLimit = 5

func geluGo(dst, x []float32) {
	for i, v := range x {
		c := max(-erfLimit, min(erfLimit, v))
		s := c*c*(2./(erfLimit*erfLimit)) - 1
		p := erfCoefficients[0]
		for _, b := range erfCoefficients[1:] {
			p = p*s + b
		}
		dst[i] = v/2 + v/2*(p*c)
	}
}

// exp returns e^x for x up to 0.
func exp(x float32) float32 { return exp2(x * math.Log2E) }

// exp2 returns 2^x for x from -125 to 0, and that of -125 below. The whole part of x is added to the bits of the
// exponent. The rest, within a half, is raised by the polynomial of degree 5 with the smallest relative error, 9.2e-8.
func exp2(x float32) float32 {
	x = max(x, -125)
	const shift = 3 << 22
	n := float32(x+shift) - shift
	r := x - n
	p := ((((0.001326472731307149*r+0.009671512991189957)*r+0.05550733581185341)*r+0.24022242426872253)*r+
		0.6931470036506653)*r + 1
	return math.Float32frombits(math.Float32bits(p) + uint32(int32(n))<<23)
}
