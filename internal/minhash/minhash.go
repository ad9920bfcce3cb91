package minhash

import (
	"math"
	"sync"
)

// BandCount is the number of band hashes of a text: an index of near duplicates has a row for each. Texts whose sets of
// shingles have the Jaccard similarity s share a band with the probability 1-(1-s^3)^BandCount. That is .81 at .7, .94
// at .8, .995 at .9, and .0005 at .05, the similarity of unrelated texts.
const BandCount = 4

// rowsPerBand is the number of minima in a band.
const rowsPerBand = 3

// SimilarityThreshold is the least Jaccard similarity of similar texts. Below it are texts of one pattern, such as the
// cases of a test.
const SimilarityThreshold = .7

// Bands returns the hashes of the BandCount bands of a text. A text without a letter or digit has none. Texts that
// differ only in case, marks of Markdown, punctuation and white space have equal bands. Near duplicates share at least
// one band (see [BandCount]); then [Shingles.Jaccard] compares them.
//
// The minima are a MinHash signature, split into bands of rows (Leskovec, Rajaraman and Ullman, Mining of Massive
// Datasets, chapter 3). One permutation for all minima would
// leave rows of short notes empty. The minima are the smaller part of the cost.
//
// The hashes are stored, so they must be the same on every machine in every version:
//
//   - A word is a run of letters, marks and digits in NFKC and one letter case; a
//     character of a script without spaces is a word of its own. Its hash is
//     64-bit FNV-1a with code points in the place of bytes.
//   - A shingle is a word w and the one before it, v: mix(w ^ v<<<32), or for a
//     character the two before it, u and v: mix(w ^ v<<<21 ^ u<<<42). A text that
//     is too short for any has one, mix(w ^ v<<<32), where v may be zero.
//     mix is the finalizer of SplitMix64.
//   - Minimum i, counted from zero, is the least product, modulo 2^64, of a
//     shingle and mix((i+1) * 0x9e3779b97f4a7c15) | 1.
//   - Band b, counted from zero, starts as b+1 and adds its three minima m one
//     after another: h = mix(h ^ m).
//
// Only characters that are newer than the Unicode tables of the program may hash differently in a later version.
func Bands(content string) []int64 {
	s := bandHasherPool.Get().(*bandHasher)
	defer bandHasherPool.Put(s)
	for i := range s.minima {
		s.minima[i] = [rowsPerBand]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64}
	}
	s.addText(content)
	if s.words == 0 {
		return nil
	}
	bands := make([]int64, BandCount)
	for b, minima := range s.minima {
		hash := uint64(b + 1)
		for _, m := range minima {
			hash = mix64(hash ^ m)
		}
		bands[b] = int64(hash)
	}
	return bands
}

type bandHasher struct {
	shingler
	minima [BandCount][rowsPerBand]uint64
}

var bandHasherPool = sync.Pool{New: func() any {
	s := new(bandHasher)
	s.emit = s.updateMinima
	return s
}}

// updateMinima lowers the minima to those of more shingles. A product with an odd number permutes all numbers. For well
// mixed numbers that is near enough to a random permutation.
func (s *bandHasher) updateMinima(shingles []uint64) {
	for b := range s.minima {
		f, least := &hashFactors[b], &s.minima[b]
		m0, m1, m2 := least[0], least[1], least[2]
		for _, x := range shingles {
			m0, m1, m2 = min(m0, x*f[0]), min(m1, x*f[1]), min(m2, x*f[2])
		}
		least[0], least[1], least[2] = m0, m1, m2
	}
}

var hashFactors = func() (f [BandCount][rowsPerBand]uint64) {
	for i := range uint64(BandCount * rowsPerBand) {
		f[i/rowsPerBand][i%rowsPerBand] = mix64((i+1)*0x9e3779b97f4a7c15) | 1
	}
	return f
}()

// mix64 spreads every bit over all: the finalizer of SplitMix64 (Steele, Lea and
// Flood, Fast Splittable Pseudorandom Number Generators, 2014).
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
