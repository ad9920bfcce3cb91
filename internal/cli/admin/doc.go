// Package admin has the commands of a server's operator: serve, and admin with its subcommands.
package admin
