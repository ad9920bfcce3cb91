// Package search is the keyword index of one workspace: immutable segments of postings, a memtable of newer changes,
// and BM25 over a snapshot of both. It keeps no state on disk. The store hands it bytes and stores the bytes that it
// returns.
//
// # Life of a document
//
// [Analyze] returns a [Document], the forward index of one memory. The store writes it beside the memory as one row of
// the index log ([DocUpdate]). A [Snapshot] answers searches over segments and the rows that no segment holds. A flush
// builds a segment from rows ([Build]); [SelectMerge] and [Merge] bound the number of segments. A document that was
// replaced or deleted has a tombstone in its segment ([Segment.MarkDeleted]); a merge drops it.
//
// # Ranking
//
// The first score is Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009) with k1 1.2 and
// b .75. Terms of the title count three times. Document counts, document frequencies and the average length are exact
// over the live documents. Each score is one float32 sum in the order of the terms of the query. So scores are equal
// bit for bit, however the documents are distributed over segments and rows.
//
// The texts of the best hits then correct the scores: [Result.Rescore], [Hit.BoostDate], [ExactMatcher]. Neighbors in a
// conversation raise each other ([Snapshot.BoostNeighbors]). [Fuse] merges the hits of the keyword and the semantic
// retriever.
package search

// FormatVersion is the first byte of every encoded document, segment header and page.
const FormatVersion = 1
