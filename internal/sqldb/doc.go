// Package sqldb opens the database, which is SQLite or PostgreSQL, behind one connection type.
//
// One body of SQL serves both. Placeholders are numbered (?1), and Dialect holds the differences.
//   - SQLite has one writer, which commits the transactions of many callers together (group commit), and a pool of
//     readers. Several processes may open one file.
//   - PostgreSQL works at READ COMMITTED. It retries deadlocks, serialization failures, unique violations and lost
//     connections. It works behind a pooler in transaction mode.
//
// Callers share connections fairly by user (package limit). The package also migrates the schema, copies
// databases for backups, checks and rebuilds their files, and creates scratch schemas.
//
// A Handle runs functions in transactions (Tx), and after a commit the functions that the Tx registered. A Tx has no
// notion of tenants: package store adds the scope to it.
package sqldb
