// Package delivery brings captured events to a server, or to the database of this device: through the spool, by the
// policy of the person, in the sessions of the agent.
//
// An event is dropped if the policy is off, paused, or excludes its adapter or folder; the server applies the same
// policy again. Before a policy was ever read, nothing is kept on the device: where it cannot be read, the event is
// dropped. A policy is read at most once a minute. The session of an agent is started with its first event; its id is
// kept, and found again by the agent's own id. All calls are idempotent, so a delivery may be cut anywhere and
// repeated.
package delivery
