// Package sessiondb reads and writes sessions: their rows, candidates, checkpoints, units, events, history, audits,
// compilations and policies. Its openings check the actor's reach, the purpose and the Idempotency-Key.
package sessiondb
