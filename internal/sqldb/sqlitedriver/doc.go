// Package sqlitedriver chooses the driver of SQLite by build tags. Release builds use SQLite in C, and builds without a
// C compiler SQLite in Go.
package sqlitedriver

// Result codes of SQLite (https://sqlite.org/rescode.html).
const (
	Busy         = 5
	Locked       = 6
	IOError      = 10
	Corrupt      = 11
	Full         = 13
	CantOpen     = 14
	Constraint   = 19
	NotADatabase = 26
)

// Extended result codes, of which the last byte is the result code.
const (
	ConstraintForeignKey = 787
	ConstraintPrimaryKey = 1555
	ConstraintUnique     = 2067
	IOErrorNoMemory      = 3082
)
