// Package relay runs a program between two streams and copies the bytes of both directions unchanged. A [Tap] gets a
// copy, through a bounded queue that the copying never waits for.
//
// The relay is transparent: it passes on the end of each side, signals, and the exit code. A closed reader closes the
// pipe behind it, so that the writer gets the error that it would get without the relay.
package relay
