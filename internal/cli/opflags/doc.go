// Package opflags reads the input of an operation from the arguments and flags of a command.
package opflags
