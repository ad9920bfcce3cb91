// Package limit bounds the callers of the service: the rate of their calls, the number of their attempts in a window,
// and the work and the bytes that they hold at once. Each limit counts by key, in memory that is bounded, and is fair
// between keys. A Queue orders waiting callers by key for it.
package limit
