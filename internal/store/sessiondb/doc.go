// Package sessiondb reads and writes the rows of sessions: candidates, checkpoints, units, events, history, audits,
// compilations and policies. It knows no scope: package store returns the session of a transaction to its actor.
package sessiondb
