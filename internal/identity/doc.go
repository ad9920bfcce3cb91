// Package identity holds the server's knowledge of a caller: the Actor of a call, its
// idempotency key and its plan. It makes and checks API keys and other random secrets.
package identity
