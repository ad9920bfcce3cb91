// Package search is the keyword index of one workspace: the analyzer that turns
// text into terms, immutable segments of postings, and BM25 over a snapshot of
// segments and newer changes. It keeps no state of its own on disk: the store
// hands it bytes and keeps the bytes it returns.
//
// # Life of a document
//
// [Analyze] makes a [Document], the forward index of one memory. The store
// writes it beside the memory as one row of a change log ([Change]). A
// [View] answers searches over segments and the changes not yet folded. Now and
// then the store folds changes into a segment ([Build]) and merges segments
// ([Tiers], [Merge]). A document that was replaced or deleted is marked dead in
// its segment ([Segment.Kill]); a merge drops it.
//
// # Ranking
//
// Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework,
// 2009), k1 1.2, b .75, terms of the title counted three times. The number of
// documents, the document frequencies and the average length are exact over the
// live documents, each document's score is one float32 sum in the order of the
// query's terms; so scores are the same bit for bit however the documents are
// spread over segments and changes. What the texts of the best hits tell comes
// after that ([Result.Reread], [Hit.Near], [Exact]), then what neighbours in a
// conversation lend each other ([View.Kin]).
package search

// FormatVersion is the first byte of every encoded document, head and page.
const FormatVersion = 1
