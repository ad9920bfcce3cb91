// Package console has the streams of a command, its terminal, the errors of a command line, and the form of its texts.
package console
