package identity

import "github.com/loci-memory/loci"

// A CredentialKind is the kind of credential that an Actor presented.
type CredentialKind string

// The kinds of credentials. CredentialToken is an access token that is narrowed to some workspaces, CredentialAccount
// one that reaches the whole account. CredentialLocal is the owner of a database on the own device: access to the file
// proves it. CredentialFile is a file token, which stands for the credential that it was exchanged for.
const (
	CredentialKey     CredentialKind = "key"
	CredentialCookie  CredentialKind = "cookie"
	CredentialToken   CredentialKind = "token"
	CredentialAccount CredentialKind = "account"
	CredentialLocal   CredentialKind = "local"
	CredentialFile    CredentialKind = "file"
)

// An Actor is the caller of one call, with the properties of the call that are not in its input. Every call has its
// own.
type Actor struct {
	UserID            loci.ID
	Email             string
	CredentialKind    CredentialKind
	CredentialID      loci.ID
	Plan              Plan
	BasePlan          loci.PlanName // without benefits
	GrantedWorkspaces []loci.ID     // the only workspaces that a narrowed token reaches; nil means all of the user's
	GrantSecret       []byte        // that outlasts the token of a call with an Idempotency-Key
	OpenReferral      bool          // the user was referred, and no memory has activated the referral yet
	AgentID           loci.ID       // of the trusted agent that the call names as its actor; empty for people

	ClientAddress string // of the peer, where one is known
	UserAgent     string // of a browser, as it names itself
	RequestID     string
	Operation     string       // name of the operation, such as memory.list
	LastEventID   loci.ID      // the last event of a stream that the client has got
	IfMatch       string       // entity tags that a change requires, as sent; empty requires none
	Idempotency   *Idempotency // nil without an Idempotency-Key
}

// IsPerson reports whether the actor may widen its own access. A narrowed token may not.
func (a *Actor) IsPerson() bool {
	return a.CredentialKind != CredentialToken && a.GrantedWorkspaces == nil
}

// WithoutIdempotency returns the actor for a transaction that neither stores nor returns a stored response.
func (a *Actor) WithoutIdempotency() *Actor {
	plain := *a
	plain.Idempotency = nil
	return &plain
}

// CacheOwner returns the owner of what is cached for the actor: the user, or the grant of a token. No other owner may
// learn from an answer, or from its time, that the actor asked for something.
func (a *Actor) CacheOwner() loci.ID {
	if a.CredentialKind == CredentialToken {
		return a.CredentialID
	}
	return a.UserID
}

// Idempotency binds a call to its Idempotency-Key. The same key with the same fingerprint returns the stored response,
// which is encrypted with EncryptionKey.
type Idempotency struct {
	Key           string
	Fingerprint   [32]byte // of the operation, its path and its canonical arguments
	EncryptionKey [32]byte // a key that only the credential's holder can derive
	Replayed      bool     // set if the stored response was returned
}
