// Package integrity checks the data of a store, repairs derived data, and purges records for good.
//
// A check compares derived data with the rows: keyword indexes, counters, LSH bands, vectors, links, sessions and the
// receipts of messages. It verifies the checksums of rows, versions and vectors, and runs the integrity check of
// SQLite. A repair rebuilds derived data; the rows themselves come only from a backup.
//
// A purge deletes the rows of a memory, a workspace or a user, and then every byte of them. Bytes are in segments of
// the keyword index, stored responses, the write-ahead log and free space. The WAL of PostgreSQL and its archive keep
// them until they are recycled.
package integrity
