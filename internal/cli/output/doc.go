// Package output prints the answers of operations: a table for a list, lines for one record, and notes below them.
package output
