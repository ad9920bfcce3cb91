// Package help prints the help pages of commands: within the width of the terminal, or 80 columns elsewhere.
package help
