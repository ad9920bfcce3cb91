// Package cli has the command line: one command for each operation of the table, and a few others (serve, mcp, login,
// doctor, admin, bench). A command runs on a target: a server, or the database on this device.
package cli
