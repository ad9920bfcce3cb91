// Package retrieve answers a search: from a query to a page of memories.
//
// The keyword retriever ranks the memories of each workspace by BM25, and rescores the best by their texts (package
// query). The semantic retriever selects vectors by binary codes, and ranks these by their dot products (package
// vector). A hybrid search adds the scores of both, each relative to its best one. A page shows the best memories that
// earlier pages did not show (SeenSet).
//
// A search reads through a Source, which store implements in a transaction. A Source returns only rows within the scope
// of its actor. Each Snapshot names the version of its index. If a flush changes that version between two reads, the
// search starts again.
//
// The constants of the pipeline are in params.go; those of scoring one text are beside it in package query.
package retrieve
