// Package analysis turns text into the terms of the index.
//
// An [Analyzer] reads a text once, in linear time. It applies NFKC (UAX #15) and maps letters to one case. It splits
// identifiers into their parts, and segments scripts without spaces into bigrams. Beside a word it emits its English
// stem (Porter, An algorithm for suffix stripping, 1980) and its form without accents. A text and a query with other
// inflections or spellings of a word then share a term.
//
// The package also holds the other readers of plain text: stop words, question phrases and the [Chunker]. An
// [OffsetMap] maps normalized text to its source. It does not depend on documents or queries.
package analysis

// Version changes when the same text may give other terms. Stored documents of another version must be analyzed again.
const Version = 9
