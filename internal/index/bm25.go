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

// EncodeLength encodes a length as one byte: exactly below 32, else with four bits of mantissa after the leading one.
// The error is 3 % at most below 2^19 words. Longer texts have the code of that length.
func EncodeLength(n uint32) uint8 {
	if n < 16 {
		return uint8(n)
	}
	e := bits.Len32(n) - 5
	return uint8(min((uint32(e)+1)<<4|n>>e&15, math.MaxUint8))
}

// DecodeLength returns the middle of the lengths with a code.
func DecodeLength(code uint8) float64 {
	if code < 16 {
		return float64(code)
	}
	e := int(code>>4) - 1
	return float64(uint32(16|code&15)<<(e+1)+uint32(1)<<e-1) / 2
}

// BM25Table holds the saturated frequency of a term for each frequency up to tabulatedFreqs and each length code. It
// holds for one average length. That of few documents computes each value: the columns need 11 KB.
type BM25Table struct {
	average float64
	columns *bm25Columns // nil for few documents
}

type bm25Columns struct {
	scores      [tabulatedFreqs + 1][256]float32
	lengthNorms [256]float64
}

// minTabulatedDocs is the least number of documents for which the columns are computed.
const minTabulatedDocs = 512

// tabulatedFreqs is the highest frequency in a table, because higher ones are rare.
const tabulatedFreqs = 8

func newBM25Table(docs int, length int64) *BM25Table {
	t := &BM25Table{average: max(1, float64(length)/float64(max(docs, 1)))}
	if docs < minTabulatedDocs {
		return t
	}
	c := new(bm25Columns)
	for code := range c.lengthNorms {
		c.lengthNorms[code] = t.LengthNorm(uint8(code))
	}
	for freq := range c.scores {
		for code, norm := range c.lengthNorms {
			c.scores[freq][code] = SaturateTF(float64(freq), norm)
		}
	}
	t.columns = c
	return t
}

// LengthNorm returns the length normalization of a length code.
func (t *BM25Table) LengthNorm(code uint8) float64 {
	if t.columns != nil {
		return t.columns.lengthNorms[code]
	}
	return LengthNorm(DecodeLength(code), t.average)
}

// LengthNorm returns the length normalization of BM25, k1*(1-b+b*length/average). The greater it is, the later a
// frequency saturates.
func LengthNorm(length, average float64) float64 {
	return float64(bm25K1 * (1 - bm25B + float64(bm25B*length/average)))
}

// SaturateTF returns the part of the BM25 score of a term that depends on its frequency in a text.
func SaturateTF(freq, norm float64) float32 { return float32(freq * (bm25K1 + 1) / (freq + norm)) }

// TF returns the saturated frequency of a term in a document.
func (t *BM25Table) TF(freq, code uint8) float32 {
	if t.columns != nil && freq <= tabulatedFreqs {
		return t.columns.scores[freq][code]
	}
	return SaturateTF(float64(freq), t.LengthNorm(code))
}

// IDF returns the inverse document frequency of a term in df of n documents, as Lucene computes it.
func IDF(n, df int) float32 {
	return float32(math.Log(1 + (float64(n-df)+.5)/(float64(df)+.5)))
}
