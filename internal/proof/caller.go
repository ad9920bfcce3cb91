package proof

import "github.com/loci-memory/loci/internal/op"

// A Caller is one of those who call an operation on the crew.
type Caller string

// Everybody, from those without a credential to those who own the crew.
const (
	Nobody    Caller = "nobody"    // shows no credential
	Revoked   Caller = "revoked"   // shows a key that ann has revoked
	Stranger  Caller = "stranger"  // has an account, and nothing to do with the crew
	Elsewhere Caller = "elsewhere" // ann's token, narrowed to another workspace
	Member    Caller = "member"
	Admin     Caller = "admin"
	Owner     Caller = "owner"
	Agent     Caller = "agent"  // ann's key, with an agent named as the actor
	Token     Caller = "token"  // ann's, narrowed to the crew
	Device    Caller = "device" // the owner of a database on the own device, where nobody signs in
)

// Callers lists them all.
var Callers = []Caller{Nobody, Revoked, Stranger, Elsewhere, Member, Admin, Owner, Agent, Token, Device}

// Proofs that no gate knows: the world itself says who shows them.
const (
	narrowed  = "proof-narrowed-token"
	elsewhere = "proof-token-elsewhere"
	device    = "proof-own-device"
)

// Proof returns what the caller shows as credential.
func (w *World) Proof(c Caller) string {
	switch c {
	case Revoked:
		return w.revoked
	case Stranger:
		return w.Eve.Key
	case Member:
		return w.Cid.Key
	case Admin:
		return w.Bob.Key
	case Owner, Agent:
		return w.Ann.Key
	case Elsewhere:
		return elsewhere
	case Token:
		return narrowed
	case Device:
		return device
	}
	return ""
}

// Call returns a call that the caller makes.
func (w *World) Call(c Caller) *op.Call {
	call := &op.Call{Door: "proof", Address: "192.0.2.1", RequestID: "proof"}
	if w.Ann != nil {
		call.Proof = w.Proof(c)
	}
	if c == Agent {
		call.Actor = "agent"
	}
	return call
}
