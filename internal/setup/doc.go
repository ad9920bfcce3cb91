// Package setup connects the programs of other makers, coding agents and editors, with Loci: it writes an entry in the
// file in which such a client lists its MCP servers, and takes it back. It does the same with the hooks by which a
// client reports its turns: commands in a list of hooks, a plugin, or an agent behind loci acp. clients.go is the table
// of clients.
package setup
