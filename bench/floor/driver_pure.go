//go:build !cgo || !sqlite_fts5

package main

import _ "modernc.org/sqlite" // the driver sqlite

const driver = "sqlite"
