// Package setup has the command that connects the agents and editors of this machine with Loci.
package setup
