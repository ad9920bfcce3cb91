package loci

// A CredentialKind is the kind of proof by which an Actor is known.
type CredentialKind string

// The kinds of credentials. A Local actor is the owner of a database on the
// own device, where the file is the proof.
const (
	CredentialKey    CredentialKind = "key"
	CredentialCookie CredentialKind = "cookie"
	CredentialToken  CredentialKind = "token"
	CredentialLocal  CredentialKind = "local"
)

// An Actor is whoever makes one call, with what belongs to the call but is no
// field of the operation. It is made anew for each call.
type Actor struct {
	UserID            string
	Email             string
	CredentialKind    CredentialKind
	CredentialID      string
	GrantedWorkspaces []string // the only workspaces that a narrowed token reaches; nil is all of the user's
	IsAgent           bool     // the call names a trusted agent as its actor

	ClientAddress string // of the peer, where one is known
	RequestID     string
	IfMatch       string       // entity tags that a change insists on, as sent; empty insists on nothing
	Idempotency   *Idempotency // what makes a repeated call harmless; nil where no key was sent
}

// IsPerson reports whether the actor may widen its own reach: by a cookie, an
// API key or on the own device, never by a narrowed token.
func (a *Actor) IsPerson() bool { return a.CredentialKind != CredentialToken }

// Idempotency ties a call to its Idempotency-Key: the same key with the same
// fingerprint is answered with what was stored, sealed with Seal.
type Idempotency struct {
	Key           string
	Fingerprint   [32]byte // of the operation, its path and its canonical arguments
	EncryptionKey [32]byte // a key that only the credential's holder can derive
	Replayed      bool     // set where the call was answered with what was stored
}
