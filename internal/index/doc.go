// Package index is the inverted index of one workspace. It has immutable segments of postings, a memtable of newer
// updates, and immutable snapshots of both. It keeps no state on disk. The store gives it bytes and stores the bytes
// that it returns.
//
// # Life of a document
//
// [Analyze] returns a [Document], the forward index of one memory. The store writes it beside the memory as one row of
// the index log, a [DocUpdate]. A [Snapshot] covers segments and the rows that no segment holds. A flush builds a
// segment from rows ([Build]). [SelectMerge] and [Merge] bound the number of segments. A document that was replaced or
// deleted has a tombstone in its segment ([Segment.MarkDeleted]). A merge drops it.
//
// # Reading
//
// A [PostingsReader] reads the postings of one term, or of the terms of a prefix expansion. A [TermsReader] reads the
// terms themselves, and finds those within an edit distance ([EditDistanceMatcher]). A
// [PageFetcher] returns pages of postings. A [Cache] holds pages and spelling dictionaries. [Filter] selects documents
// by their attributes.
//
// # Statistics
//
// Document counts, document frequencies and the average length are exact over the live documents. [BM25Table] and [IDF]
// are the parts of BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009). The parameters are k1
// 1.2 and b .75, with the inverse document frequency of Lucene. Terms of the title count three times.
package index

// FormatVersion is the first byte of every encoded document, segment header, page and list of tombstones.
const FormatVersion = 1
