// Package backup writes, verifies and restores backups of a SQLite database: a tar of a manifest and the database.
package backup
