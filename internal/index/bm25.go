package index

import (
	"math"
	"math/bits"
)

// The parameters k1 and b of BM25.
const (
	bm25K1 = 1.2
	bm25B  = .75
)

// EncodeLength is a length as one byte: exact below 16, then four bits of mantissa
// after the leading one, so that it is off by 3 % at most.
func EncodeLength(n uint32) uint8 {
	if n < 16 {
		return uint8(n)
	}
	e := bits.Len32(n) - 5
	return uint8(min((uint32(e)+1)<<4|n>>e&15, math.MaxUint8))
}

// DecodeLength is the middle of the lengths that share a code.
func DecodeLength(code uint8) float64 {
	if code < 16 {
		return float64(code)
	}
	e := int(code>>4) - 1
	return float64(uint32(16|code&15)<<e) + float64(uint32(1)<<e-1)/2
}

// BM25Table holds the saturated term frequency for each frequency up to normFreqs
// and each length code, in one workspace's average length.
type BM25Table struct {
	scores      [tabulatedFreqs + 1][256]float32
	lengthNorms [256]float64
	avgLength   float64 // length
}

const tabulatedFreqs = 8

func newBM25Table(docs int, length int64) *BM25Table {
	n := BM25Table{avgLength: max(1, float64(length)/float64(max(docs, 1)))}
	for code := range n.lengthNorms {
		n.lengthNorms[code] = LengthNorm(DecodeLength(uint8(code)), n.avgLength)
	}
	for freq := range n.scores {
		for code := range n.lengthNorms {
			n.scores[freq][code] = n.computeTF(freq, code)
		}
	}
	return &n
}

// LengthNorm returns the length normalization of a length code.
func (n *BM25Table) LengthNorm(code uint8) float64 { return n.lengthNorms[code] }

// LengthNorm is how fast the frequency of a term saturates in a text of some length.
func LengthNorm(length, average float64) float64 { return bm25K1 * (1 - bm25B + bm25B*length/average) }

// SaturateTF is what a term counts that stands so often in a text.
func SaturateTF(freq, norm float64) float32 { return float32(freq * (bm25K1 + 1) / (freq + norm)) }

func (n *BM25Table) computeTF(freq, code int) float32 {
	return SaturateTF(float64(freq), n.lengthNorms[code])
}

func (n *BM25Table) TF(freq, code uint8) float32 {
	if freq <= tabulatedFreqs {
		return n.scores[freq][code]
	}
	return n.computeTF(int(freq), int(code))
}

// IDF is the weight of a term that df of n documents hold.
func IDF(n, df int) float32 {
	return float32(math.Log(1 + (float64(n-df)+.5)/(float64(df)+.5)))
}
