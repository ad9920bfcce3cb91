// Package vector finds the stored vectors that are nearest to the vector of a query.
//
// [Chunks] cuts a memory into the texts that an [Embedder] turns into vectors. [Encode] stores a vector with one byte
// for each dimension. A search has two steps. [BinaryCodes.Nearest] is a flat scan over binary codes: the sign bits of
// all vectors, compared by Hamming distance (Charikar, Similarity estimation techniques from rounding algorithms,
// 2002). It returns candidates. The caller reads these from storage, or from a [Cache], and compares them with
// [QueryVector.Dot].
//
// The scan reads from [Documents] which memories exist and match the filter. The package does not import the index.
package vector
