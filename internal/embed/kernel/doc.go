// Package kernel holds the arithmetic of the built-in embedding model, a BERT of width 384 with 12 heads of 32. It has
// products of int8 matrices, attention, GELU and layer norm, for one text at a time on one thread.
//
// # Numbers
//
// A dense layer y = W x + b is computed as y = (W H)(H x) + b, where H is the orthonormal Hadamard matrix in blocks of
// 128 ([Block]) along the input. H is its own inverse, so this is exact algebra. It spreads the few channels that are
// far larger than the others, so that rounding to int8 loses less. W H is rounded beforehand, with one scale for each
// row. H x is computed here by a fast Walsh-Hadamard transform and rounded with one scale for each token. Sums of
// products are exact in int32; all else is float32.
//
// # Memory
//
// Tensors are row-major, one row for each token. Tokens are processed four at a time. The outputs of Mul and Attention
// have [Padded](tokens) rows; the rows beyond tokens are finite and have no meaning.
//
// # Variants
//
// A [Variant] is one implementation of all kernels: AVX-512 VNNI, AVX2 with FMA, or plain Go. The two in assembly share
// all but the products of matrices, and give the same bits. Plain Go rounds otherwise where they fuse a product with a
// sum.
package kernel
