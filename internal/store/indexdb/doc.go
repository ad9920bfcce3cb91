// Package indexdb keeps the keyword index of each workspace in tables.
//
// An index is an LSM tree. A write appends a row to the log of the workspace (table index_log, the memtable on disk). A
// flush turns rows of the log into an immutable segment (tables segments and segment_pages) and adds what they count to
// the counters of the atlases. A merge replaces segments by one. A deleted document stays in its segment under a
// tombstone until a merge.
//
// Every flush and merge raises the version of the index, and only the process that finds the version it has read
// succeeds: several processes may work on one database. A search reads the State of an index first, takes the Snapshot
// of that state from the cache or brings an older one up to date, and gets ErrStale where a flush came between.
//
// Reindexing replaces the documents of an earlier analyzer.
package indexdb
