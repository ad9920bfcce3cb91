// Package vector finds the stored vectors that are nearest to the vector of a query.
//
// [Chunks] cuts a memory into the texts that an [Embedder] turns into vectors. [Encode] stores a vector with one byte
// for each dimension. A search has three steps. A [Scan] compares binary codes, the sign bits of all vectors, by
// Hamming distance. The bits take the place of the random hyperplanes of Charikar (Similarity estimation techniques
// from rounding algorithms, 2002). It then ranks the nearest codes by the dot product of the whole query vector with
// their signs. The caller reads the best from storage, or from a [Cache], and compares them with [QueryVector.Dot].
//
// The scan reads from [Documents] which memories exist and match the filter. The package does not import the index.
package vector
