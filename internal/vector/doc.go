// Package vector finds the stored vectors that are nearest to the vector of a query.
//
// [Chunks] cuts a memory into the texts that an [Embedder] turns into vectors. [Encode] stores a vector with one byte
// for each dimension. A search has two steps. [BinaryCodes.Nearest] scans the sign bits of all vectors by Hamming
// distance (Charikar, Similarity estimation techniques from rounding algorithms, 2002) and returns candidates. The
// caller reads these from storage, or from a [Cache], and compares them exactly with [QueryVector.Dot].
//
// The scan asks [Documents] which memories exist and which match the filter; the package knows no index.
package vector
