// Package integrity checks the data of a store, repairs what is derived, and purges records for good.
//
// A check compares everything that is derived from the rows with the rows: keyword indexes, counters, LSH bands,
// vectors and links. It verifies the checksums of rows, versions and vectors, and runs the integrity check of SQLite. A
// repair rebuilds derived data; the rows themselves come only from a backup.
//
// A purge deletes the rows of a memory, a workspace or a user, and then every byte of them: in segments of the keyword
// index, in stored responses, in the write-ahead log and in free space.
package integrity
