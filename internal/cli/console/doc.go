// Package console has the streams of a command and its terminal: confirmation, messages, progress.
package console
