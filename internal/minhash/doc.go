// Package minhash detects near-duplicate texts.
//
// [Bands] returns the LSH bands of a text, hashes of its MinHash signature (Broder, On the resemblance and containment
// of documents, 1997). Texts that are nearly equal share at least one band with high probability. [Shingles.Jaccard]
// then compares a pair exactly, up to sampling of long texts.
package minhash
