// Package kernel holds the arithmetic of the built-in embedding model, a BERT of
// width 384 with 12 heads of 32: products of int8 matrices, attention, GELU and
// layer norm, for one text at a time on one thread.
//
// # Numbers
//
// A dense layer y = W x + b is computed as y = (W H)(H x) + b, where H is the
// orthonormal Hadamard matrix in blocks of 128 ([Block]) along the input. H is its
// own inverse, so this is exact algebra; it spreads the few channels that are far
// larger than the others, and so makes room for rounding to int8. W H is rounded
// beforehand, with one scale for each row. H x is computed here by a fast
// Walsh-Hadamard transform and rounded with one scale for each token.
// Sums of products are exact in int32; all else is float32.
//
// # Memory
//
// Tensors are row-major, one row for each token. Tokens are taken four at a time:
// what Mul and Attention write has [Padded](tokens) rows, and the rows beyond
// tokens hold finite values without meaning.
//
// # Variants
//
// A [Variant] is one implementation of all kernels: AVX-512 VNNI, AVX2 with FMA,
// or plain Go. The two in assembly give the same bits; plain Go rounds otherwise
// where they fuse a product with a sum.
package kernel
