// Package retrieve answers a search: from a query to a page of memories.
//
// The keyword retriever ranks the memories of each workspace by BM25 and corrects the best scores by their texts
// (package query). The semantic retriever picks the vectors next to that of the query by their binary codes and
// compares those whole (package vector). A hybrid search fuses both by relative score, damped by rank. A page shows the
// best memories that earlier pages did not show (SeenSet).
//
// A search reads through a Source, which store implements in a transaction with the scope of an actor: no statement and
// no row beyond that scope comes here. Every Snapshot has a state of its index. A flush between two reads makes the
// search start again.
//
// The constants of the pipeline are in params.go; those of scoring one text are beside it in package query.
package retrieve
