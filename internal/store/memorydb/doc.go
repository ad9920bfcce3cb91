// Package memorydb reads and writes memories: their rows, versions, lists, near duplicates, and what a search reads.
// Its openings check the actor's reach and role, the purpose, If-Match and the Idempotency-Key.
package memorydb
