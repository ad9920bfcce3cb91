// Package sqlite opens databases of SQLite: one writer, which commits the transactions of many callers together (group
// commit), and a pool of readers. Several processes may open one file.
//
// Build tags choose the driver. Release builds use SQLite in C, and builds without a C compiler SQLite in Go. The
// package also checks and rebuilds a file, and copies one for a backup.
package sqlite
