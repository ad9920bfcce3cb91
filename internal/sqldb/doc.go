// Package sqldb opens the database, which is SQLite or PostgreSQL, behind one connection type.
//
// One body of SQL serves both: placeholders are numbered (?1), and Dialect holds the differences. SQLite has
// one writer, which commits the transactions of many callers together (group commit), and a pool of readers.
// PostgreSQL works at READ COMMITTED and retries deadlocks and serialization failures. Callers share
// connections fairly by user. The package migrates the schema, makes backups and opens scratch databases.
//
// A Handle runs functions in transactions (Tx), and functions that a Tx registers after its commit. A Tx knows no
// tenants: package store builds the transactions with a scope on it.
package sqldb
