// Package sqldb is one interface to a database, which its packages sqlite and postgres open.
//
// One body of SQL serves both. Placeholders are numbered (?1), and Dialect holds the differences. Migrations are
// written once, in the SQL of SQLite. Callers share connections fairly by user (package limit).
//
// A Handle runs functions in transactions (Tx), and after a commit the functions that the Tx registered. A Tx has no
// notion of tenants: package store adds the scope to it.
package sqldb
