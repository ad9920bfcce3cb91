// Package profile stores the login of a person: a server and the key or tokens for it. Processes that run at once share
// it: one of them refreshes the tokens, under a lock.
package profile
