// Package indexdb keeps the keyword index of each workspace in tables.
//
// An index is an LSM tree. A write appends a row to the log of the workspace (table index_log, from which the memtable
// is read). A flush turns rows of the log into an immutable segment (tables segments and segment_pages). It adds their
// counts to the counters of the atlases. A merge replaces segments by one. A deleted document stays in its segment
// under a tombstone until a merge.
//
// Every flush and merge raises the version of the index. It fails if another process has raised the version meanwhile.
// A search reads the State of an index first. It takes the Snapshot of that state from the cache, or brings an older
// one up to date. It gets ErrStale if a flush or merge is committed meanwhile.
//
// Reindexing replaces the documents of an earlier analyzer.
package indexdb
