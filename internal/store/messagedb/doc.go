// Package messagedb keeps the messages between agents, and the receipts of their recipients, in tables.
//
// Each recipient has its own sequence of numbers. A transaction takes the next ones under the locks of the recipients'
// rows, so that numbers follow commits: a reader that has seen a number never misses a smaller one.
package messagedb
