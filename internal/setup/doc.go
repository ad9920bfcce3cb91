// Package setup connects the programs of other makers, coding agents and editors, with Loci: it writes an entry in the
// file in which such a client lists its MCP servers, and takes it back. clients.go is the table of clients.
package setup
