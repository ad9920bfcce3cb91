package search

import (
	"math"
	"math/bits"
)

// The parameters of BM25, and what the score of an expired and of a reviewed
// document is multiplied by.
const (
	k1       = 1.2
	tilt     = .75 // b in the literature
	expired  = .8
	reviewed = 1.03
)

// lengthCode is a length as one byte: exact below 16, then four bits of mantissa
// after the leading one, so that it is off by 3 % at most.
func lengthCode(n uint32) uint8 {
	if n < 16 {
		return uint8(n)
	}
	e := bits.Len32(n) - 5
	return uint8(min((uint32(e)+1)<<4|n>>e&15, math.MaxUint8))
}

// codeLength is the middle of the lengths that share a code.
func codeLength(code uint8) float64 {
	if code < 16 {
		return float64(code)
	}
	e := int(code>>4) - 1
	return float64(uint32(16|code&15)<<e) + float64(uint32(1)<<e-1)/2
}

// norms holds the saturated term frequency for each frequency up to normFreqs
// and each length code, in one workspace's average length.
type norms struct {
	table   [normFreqs + 1][256]float32
	bend    [256]float64
	average float64 // length
}

const normFreqs = 8

func newNorms(docs int, length int64) *norms {
	n := norms{average: max(1, float64(length)/float64(max(docs, 1)))}
	for code := range n.bend {
		n.bend[code] = bendOf(codeLength(uint8(code)), n.average)
	}
	for freq := range n.table {
		for code := range n.bend {
			n.table[freq][code] = n.compute(freq, code)
		}
	}
	return &n
}

// bendOf is how fast the frequency of a term saturates in a text of some length.
func bendOf(length, average float64) float64 { return k1 * (1 - tilt + tilt*length/average) }

// saturate is what a term counts that stands so often in a text.
func saturate(freq, bend float64) float32 { return float32(freq * (k1 + 1) / (freq + bend)) }

func (n *norms) compute(freq, code int) float32 { return saturate(float64(freq), n.bend[code]) }

func (n *norms) of(freq, code uint8) float32 {
	if freq <= normFreqs {
		return n.table[freq][code]
	}
	return n.compute(int(freq), int(code))
}

// idf is the weight of a term that df of n documents hold.
func idf(n, df int) float32 {
	return float32(math.Log(1 + (float64(n-df)+.5)/(float64(df)+.5)))
}
