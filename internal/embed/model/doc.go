// Package model defines the file of the built-in embedding model, writes it and reads it.
//
// # The file
//
// All numbers are little endian.
//
//	bytes 0-7    "LOCIMODL"
//	bytes 8-11   version of the format, 1
//	bytes 12-15  n, the size of the head in bytes
//	from 16 on   the head, n bytes of JSON: see [Header]
//	             zeros up to the next multiple of 64: here the data begin
//	the data     tensors, each at a multiple of 64 bytes after the beginning of the
//	             data, zeros between
//
// A tensor is row-major, of one of these types:
//
//	i8    int8, from -127 to 127
//	f32   IEEE 754 float32
//	text  UTF-8; its shape is its size in bytes
//
// # The tensors
//
// A BERT of L layers, width W, inner width I, a vocabulary of V pieces and P positions has these tensors:
//
//	vocabulary                 text     the pieces in the order of their ids, each ends with "\n"
//	words, words.scale         [V,W] i8, [V]   the embedding of a piece is its row times its scale
//	positions                  [P,W]    embeddings of positions, and of token type 0 with them
//	norm.gamma, norm.beta      [W]      of the layer norm after the sum of both
//
// and for each layer N from 0:
//
//	N.qkv, .scale, .bias       [3W,W]   query, key and value of attention
//	N.mixed, .scale, .bias     [W,W]    the dense layer behind attention
//	N.mixed.gamma, .beta       [W]      the layer norm behind it
//	N.up, .scale, .bias        [I,W]    the dense layer before GELU
//	N.down, .scale, .bias      [W,I]    and behind it
//	N.down.gamma, .beta        [W]      the layer norm behind it
//
// The matrices of layers are i8: one row for each output, with one scale and one bias for each. A weight is multiplied
// by the scale of its row. They are rotated along the input by the orthonormal Hadamard matrix in blocks of 128: W H is
// stored. Tensors without a type above are f32.
package model
